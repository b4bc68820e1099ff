// Pairs of reinit runs, flat and climb, each in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/forebay/json_reader.hpp"
#include "tools/forebay/measures.hpp"

namespace forebay::tools {

/// The results of a flat and a climb run with the same options.
struct ReinitPair {
  std::unique_ptr<JsonDocument> flat;
  std::unique_ptr<JsonDocument> climb;
  double difference = 0;  ///< climb_percent of climb minus that of flat
};

/// What pairs say about time: it climbs no more with re-creation than without when the interval
/// reaches 0 or lies within ±3 %.
struct PairsVerdict {
  double median_difference = 0;
  Interval interval;
  bool flat_enough = false;
};
[[nodiscard]] PairsVerdict judge_pairs(const std::vector<double>& differences);

/// Runs `words` (without the program's name) in a child process of this program and returns its
/// standard output; its standard error is ours. Throws Error when it does not end with code 0 or 1,
/// or writes nothing.
[[nodiscard]] std::string run_child(const std::vector<std::string>& words);

/// Runs one pair: `words` with --mode flat and --mode climb, climb first when `climb_first`. Throws
/// Error when a child fails or its JSON lacks climb_percent.
[[nodiscard]] ReinitPair run_pair(const std::vector<std::string>& words, bool climb_first);

/// What went wrong in a pair besides time: counters that do not hold in a run, and losses of A that
/// differ between the two. Empty when all is well.
[[nodiscard]] std::vector<std::string> pair_faults(const ReinitPair& pair);

/// The pairs and their verdict as the JSON of the bench.
[[nodiscard]] std::string pairs_json(const std::vector<ReinitPair>& pairs,
                                     const PairsVerdict& verdict,
                                     const std::vector<std::string>& faults);

}  // namespace forebay::tools
