#include "runtime/size_text.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace forebay {

namespace {

constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The bytes of one `unit`; 0 if there is no such unit. No unit means bytes.
std::uint64_t bytes_of(std::string_view unit) {
  if (unit.empty()) return 1;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (kUnits[i] == unit) return std::uint64_t{1} << (10 * i);
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) noexcept {
  // The number is digits / scale; both stay exact integers.
  std::uint64_t digits = 0;
  std::uint64_t scale = 1;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      if (i == 0 || i + 1 == text.size() || !is_digit(text[i + 1])) return std::nullopt;
      point = true;
      continue;
    }
    if (__builtin_mul_overflow(digits, std::uint64_t{10}, &digits) ||
        __builtin_add_overflow(digits, static_cast<std::uint64_t>(text[i] - '0'), &digits) ||
        (point && __builtin_mul_overflow(scale, std::uint64_t{10}, &scale))) {
      return std::nullopt;
    }
  }
  if (i == 0) return std::nullopt;
  if (i + 1 < text.size() && text[i] == ' ') ++i;
  const std::uint64_t unit = bytes_of(text.substr(i));
  if (unit == 0 || (point && i == text.size())) return std::nullopt;
  const auto bytes = static_cast<unsigned __int128>(digits) * unit;
  if (bytes % scale != 0 || bytes / scale > SIZE_MAX) return std::nullopt;
  return static_cast<std::size_t>(bytes / scale);
}

std::string format_size(std::size_t bytes) {
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + std::string(kUnits[unit]);
}

std::string describe_size(std::size_t bytes) {
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 1024) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g %s", value, kUnits[unit].data());
  return text.data();
}

}  // namespace forebay
