// Plays a trace on a device and measures what the pool did.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "forebay/pool/lagged_timeline.hpp"
#include "forebay/pool/replay.hpp"
#include "forebay/pool/stats.hpp"
#include "forebay/pool/trace.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::tools {

struct ReplayWork {
  std::uint64_t repeat = 1;  ///< passes over the trace
  double scale = 1;          ///< of the sizes in the trace, which has them already
  bool touch = false;        ///< stamp every block and check it
  bool detail = false;       ///< all that the device can tell goes into its statistics
  /// The clock of a simulated device; null otherwise.
  pool::LaggedTimeline* timeline = nullptr;
};

/// What one pass over the trace cost.
struct ReplayPass {
  std::uint64_t driver_calls = 0;
  std::uint64_t driver_us = 0;
  std::uint64_t host_waits = 0;
  std::uint64_t device_syncs = 0;
  double seconds = 0;
};

struct ReplayResult {
  pool::ReplayOutcome outcome;                        ///< of the last pass
  std::vector<ReplayPass> passes;                     ///< the last may be one that failed
  pool::PoolStats stats;                              ///< of the pool, when the last pass ended
  std::string stats_json;                             ///< of the device, then
  double ns_per_event_p50 = 0, ns_per_event_p99 = 0;  ///< over batches; 0 for too short a trace
  /// With touch: the block whose stamp was lost.
  std::optional<std::uint32_t> lost_block;
};

/// Called now and then with the events done in all passes.
using ReplayProgress = std::function<void(std::uint64_t done)>;

/// Throws what streams and touching throw; a pass that fails is a part of the result.
[[nodiscard]] ReplayResult run_replay(const pool::Trace& trace, Device& device,
                                      const ReplayWork& work, const ReplayProgress& progress);

}  // namespace forebay::tools
