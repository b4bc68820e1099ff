// Lists as people write them on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/forebay/command.hpp"

namespace forebay::tools {

/// "a,b,c" cut at its commas.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);
/// "256,4KiB,64 MiB" in bytes. Throws UsageError naming `option`, the item and what is allowed.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const char* option, std::string_view text,
                                                     Range range);
/// "100,10000" as whole numbers. Throws like `parse_sizes`.
[[nodiscard]] std::vector<std::uint64_t> parse_counts(const char* option, std::string_view text,
                                                      Range range);

}  // namespace forebay::tools
