// Statistics without what a clock had a say in, for comparing two of them.
#pragma once

#include "forebay/pool/stats.hpp"

namespace forebay::pool::test {

inline PoolStats timeless(PoolStats stats) {
  stats.age_s = 0;
  for (Flow* flow : {&stats.requested, &stats.allocated}) flow->peak_at_s = 0;
  for (Level* level :
       {&stats.pending, &stats.free, &stats.mapped, &stats.idle_handles, &stats.held}) {
    level->peak_at_s = 0;
  }
  stats.latency_ns = {};
  stats.miss_path.us = 0;
  LadderStats::each_field([](const char*, Merge, Tally& tally) { tally.us = 0; }, stats.ladder);
  return stats;
}

}  // namespace forebay::pool::test
