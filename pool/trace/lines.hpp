// Lines of comma-separated fields, read in place.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace forebay::pool {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Walks over the lines of a text and skips empty ones.
class Lines {
 public:
  explicit Lines(std::string_view text) noexcept : rest_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (rest_.substr(0, 3) == kByteOrderMark) rest_.remove_prefix(3);
  }
  /// The next line without its end; false if there is none.
  bool next(std::string_view* line) noexcept {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      *line = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!line->empty()) return true;
    }
    return false;
  }
  /// Of the line that `next` gave last, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  std::string_view rest_;
  std::uint64_t number_ = 0;
};

/// The fields of a line without the blanks around them; false unless there are exactly N.
template <std::size_t N>
[[nodiscard]] bool split(std::string_view line, std::array<std::string_view, N>* fields) noexcept {
  for (std::size_t i = 0; i < N; ++i) {
    const auto comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == N)) return false;
    (*fields)[i] = trimmed(line.substr(0, comma));
    if (i + 1 < N) line.remove_prefix(comma + 1);
  }
  return true;
}

/// All of `text` as a whole number of this type.
template <typename Integer>
[[nodiscard]] std::optional<Integer> whole(std::string_view text, int base = 10) noexcept {
  Integer value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

}  // namespace forebay::pool
