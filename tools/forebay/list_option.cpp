#include "tools/forebay/list_option.hpp"

#include <charconv>

#include "runtime/size_text.hpp"

namespace forebay::tools {

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    items.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<std::uint64_t> parse_sizes(const char* option, std::string_view text, Range range) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& item : split_list(text)) {
    const auto size = parse_size(item);
    if (!size || *size < range.least || *size > range.most) {
      throw UsageError(std::string(option) + " takes sizes from " + format_size(range.least) +
                       " to " + format_size(range.most) + ", with commas between them, not '" +
                       item + "'");
    }
    sizes.push_back(*size);
  }
  return sizes;
}

std::vector<std::uint64_t> parse_counts(const char* option, std::string_view text, Range range) {
  std::vector<std::uint64_t> counts;
  for (const std::string& item : split_list(text)) {
    std::uint64_t count = 0;
    const char* end = item.data() + item.size();
    const auto [stop, error] = std::from_chars(item.data(), end, count);
    if (error != std::errc{} || stop != end || count < range.least || count > range.most) {
      throw UsageError(std::string(option) + " takes whole numbers from " +
                       std::to_string(range.least) + " to " + std::to_string(range.most) +
                       ", with commas between them, not '" + item + "'");
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace forebay::tools
