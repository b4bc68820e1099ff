#include "tools/forebay/capacity_option.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "runtime/size_text.hpp"
#include "tools/forebay/command.hpp"

namespace forebay::tools {
namespace {

constexpr std::size_t kLeast = std::size_t{2} << 20;
constexpr std::size_t kMost = std::size_t{128} << 40;

std::optional<double> factor_of(std::string_view text) {
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, factor, std::chars_format::fixed);
  // "inf" and "nan" are numbers too, but no factors.
  if (error != std::errc{} || stop != end || !(factor > 0) || !std::isfinite(factor)) {
    return std::nullopt;
  }
  return factor;
}

std::optional<std::size_t> multiple_of(std::string_view text, std::uint64_t peak) {
  const std::optional<double> factor = factor_of(text);
  if (!factor) return std::nullopt;
  const double bytes = *factor * static_cast<double>(peak);
  return bytes >= static_cast<double>(kMost) ? kMost + 1 : static_cast<std::size_t>(bytes);
}

}  // namespace

std::size_t parse_capacity(const std::string& text, std::uint64_t peak) {
  if (text.empty()) return 0;
  const auto bytes = text.back() == 'x'
                         ? multiple_of(std::string_view(text).substr(0, text.size() - 1), peak)
                         : parse_size(text);
  if (!bytes) {
    throw UsageError(
        "--capacity takes a size such as 8GiB, or a multiple of the trace's peak such "
        "as 1.02x, not '" +
        text + "'");
  }
  if (*bytes < kLeast || *bytes > kMost) {
    throw UsageError("--capacity " + text + " is " +
                     (*bytes > kMost ? "more than 128 TiB" : format_size(*bytes)) +
                     "; from 2 MiB to 128 TiB are allowed");
  }
  return *bytes;
}

double parse_factor(const char* option, const std::string& text, FactorRange range) {
  const std::optional<double> factor = factor_of(text);
  if (!factor || *factor < range.least || *factor > range.most) {
    char allowed[64];
    std::snprintf(allowed, sizeof allowed, "a number from %g to %g", range.least, range.most);
    throw UsageError(std::string("--") + option + " takes " + allowed + " such as 1.07, not '" +
                     text + "'");
  }
  return *factor;
}

}  // namespace forebay::tools
