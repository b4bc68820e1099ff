// The workload cold-start: upload, add one, sum, over many tensors, from the first pass on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "forebay/compute/tensor.hpp"

namespace forebay::tools {

struct ColdStart {
  std::uint64_t tensors = 128;
  std::uint64_t loops = 8;
  Dims shape{32, 4, 84, 84};
  bool clone = false;         ///< copy each buffer before its upload, and let that count
  bool through_host = false;  ///< read each result back and upload it again before its sum
};

/// One pass, in seconds.
struct ColdStartPass {
  float sum = 0;
  double elapsed_s = 0;       ///< everything
  double upload_s = 0;        ///< until the last tensor has arrived
  double add_sum_s = 0;       ///< the rest
  double compile_wait_s = 0;  ///< of it: spent in the kernel compiler
};

/// The tensors' values on the host: int32 zeros in pageable memory, each buffer written once so
/// that no page is shared. Throws UsageError when the bytes cannot be counted and Error when the
/// machine has not that much memory left.
[[nodiscard]] std::vector<std::vector<std::int32_t>> make_sources(const ColdStart& work);

/// Called after each pass, off the clock, while the results are still alive.
using ColdStartReport = std::function<void(std::uint64_t i, const ColdStartPass& pass)>;

/// Runs the passes over `sources` on `device`. The sum is kept in float32 on the host. Throws what
/// tensors throw.
void run_cold_start(const ColdStart& work, const std::vector<std::vector<std::int32_t>>& sources,
                    Device& device, const ColdStartReport& report);

}  // namespace forebay::tools
