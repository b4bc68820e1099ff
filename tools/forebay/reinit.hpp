// The workload reinit: a network is trained for ever while others come and go beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "forebay/runtime/device.hpp"

namespace forebay::tools {

struct Reinit {
  bool climb = false;  ///< create, train and drop one more network in every iteration
  std::uint64_t iters = 500;
  std::uint64_t networks = 1;  ///< that stay: A, then B, then C
  std::uint64_t inner_steps = 50;
  bool jitter = false;        ///< vary the widths of the one more network
  bool random_drops = false;  ///< drop its parts in an order that changes
  bool enqueue_only = false;  ///< time A's steps without their wait
};

/// What may not grow, at the end of one iteration, and a little beside it.
#define FOREBAY_REINIT_COUNTERS(X)                           \
  X(live_blocks)                                             \
  X(live_bytes)                                              \
  X(held_bytes)                                              \
  X(tape_nodes)                                              \
  X(events)                                                  \
  X(programs)                                                \
  X(plans)                                                   \
  X(driver_calls) /* that create, map or give back memory */ \
  X(compilations)                                            \
  X(tensor_tables)                                           \
  X(driver_calls_all) /* of every kind, launches too */
struct ReinitCounters {
#define FOREBAY_COUNTER(name) std::uint64_t name = 0;
  FOREBAY_REINIT_COUNTERS(FOREBAY_COUNTER)
#undef FOREBAY_COUNTER
};

struct ReinitResult {
  std::vector<double> st_ms;  ///< for each iteration, the sum of A's steps
  std::vector<float> loss;    ///< for each iteration, A's loss in its last step
  double step_us = 0;         ///< median of one step of A after the warm-up
  double train_step_us = 0;   ///< the same of a whole training step: forward to the step's end
  std::uint64_t first_iteration = 0;  ///< whose counters are `first`: 100, 10 or 0, see below
  ReinitCounters first;
  ReinitCounters last;
  /// Every counter that did not hold, a line each.
  std::vector<std::string> broken;
};

/// Iterations that are left out of every comparison.
inline constexpr std::uint64_t kReinitWarmUp = 10;

/// The iteration with which the end is compared: 100, or the first one after the warm-up when there
/// are no more than that, or the very first when there are fewer still.
[[nodiscard]] std::uint64_t reinit_first_iteration(std::uint64_t iters) noexcept;

/// What does not hold between two counts: live things, tape, events, programs, plans, driver calls
/// for memory and compilations are equal, and so are tables unless a network was re-created; held
/// memory grew by at most `handle_bytes`.
[[nodiscard]] std::vector<std::string> reinit_broken(const ReinitCounters& first,
                                                     const ReinitCounters& last, bool climb,
                                                     std::uint64_t handle_bytes);

/// Called at the end of each iteration with its time.
using ReinitReport = std::function<void(std::uint64_t iteration, double st_ms)>;

/// Runs the workload on `device`. `before_end` is called when all work is done and the networks
/// that stay are still there. Throws what tensors throw.
[[nodiscard]] ReinitResult run_reinit(const Reinit& work, Device& device,
                                      const ReinitReport& report,
                                      const std::function<void()>& before_end);

}  // namespace forebay::tools
