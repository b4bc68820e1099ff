// Capacities and factors as people write them on a command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace forebay::tools {

/// "8 GiB", "4096", or "1.02x": so many times `peak` bytes, rounded down. 0 for an empty text,
/// which leaves the capacity to the configuration. Throws UsageError for anything else, for less
/// than 2 MiB, which is the least that a pool can hold, and for more than 128 TiB.
[[nodiscard]] std::size_t parse_capacity(const std::string& text, std::uint64_t peak);

struct FactorRange {
  double least, most;
};
/// "1.07" as --`option` takes it, within `range`. Throws UsageError.
[[nodiscard]] double parse_factor(const char* option, const std::string& text, FactorRange range);

}  // namespace forebay::tools
