// Sums over the map in a pool's statistics.
#pragma once

#include <string_view>

#include "forebay/pool/stats.hpp"

namespace forebay::pool {

/// The bytes of a map and the ranges in which they lie.
struct MapSum {
  Count bytes = 0, ranges = 0, allocated = 0, pending = 0;
};

/// Over the ranges of a client, and of one state of them if it is named.
[[nodiscard]] inline MapSum sum_of_map(const PoolStats& stats, std::string_view client,
                                       std::string_view state = {}) {
  MapSum sum;
  for (const MapRange& range : stats.map) {
    if (range.client != client || (!state.empty() && range.state != state)) continue;
    sum.bytes += range.bytes;
    sum.allocated += range.allocated;
    sum.pending += range.pending;
    ++sum.ranges;
  }
  return sum;
}

}  // namespace forebay::pool
