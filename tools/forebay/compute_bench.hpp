// The measurements of `forebay bench compute`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "forebay/runtime/device.hpp"
#include "tools/forebay/planning_bench.hpp"

namespace forebay::tools {

struct ComputeBenchWork {
  std::uint64_t mib = 1024;     ///< of each array
  std::uint64_t repeats = 20;   ///< runs, of which the median counts
  std::uint64_t calls = 2000;   ///< launches whose cost is measured together
  std::uint64_t queued = 4096;  ///< the longest queue that is planned
};

/// One case in one tier: "interpret" or "compile" on CUDA, "executor" on the host, "loop" for a
/// plain loop there and "stream" for STREAM's; "driver" for what the backend copies by itself, and
/// "tensor" for what is more than one launch.
struct ComputeRow {
  std::string name;
  std::string tier;
  std::uint64_t bytes = 0;
  double median_s = 0;
  double gb_per_s = 0;
  double of_copy = 0;  ///< bandwidth over that of the best copy of this run
};

/// What a small operation costs. The caller, to enqueue it: "call" for a kernel that does nothing,
/// by tier, and "tensor" for all of `(x + 1).eval()`; or until the device has done it, as one of a
/// hundred that follow each other: "graph" where they are replayed together, "eager" where they are
/// not.
struct LaunchRow {
  std::string name;
  double us = 0;
};

struct ComputeResults {
  double copy_gb_per_s = 0;  ///< the better of the backend's copy and our own copy kernel
  std::vector<ComputeRow> rows;
  std::vector<LaunchRow> launches;
  std::vector<PlanningRow> planning;
};

/// Runs all of it; `report` hears of each row when it is there. Throws UsageError for sizes that
/// the device cannot hold, and what the device throws.
[[nodiscard]] ComputeResults run_compute_bench(
    const ComputeBenchWork& work, Device& device,
    const std::function<void(const std::string&)>& report);

}  // namespace forebay::tools
