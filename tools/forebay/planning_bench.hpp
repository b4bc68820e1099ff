// What it costs to plan: from tensors' operations to launches, by how many are queued.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "forebay/runtime/device.hpp"

namespace forebay::tools {

struct PlanningRow {
  std::string name;
  std::uint64_t queued = 0;    ///< operations that wait when the first of them is evaluated
  double us_per_op = 0;        ///< of the caller, from making the expressions to the last launch
  double launches_per_op = 0;  ///< counted
};

/// Small tensors, so that what is measured is planning and its share of the launches:
///   independent   one operation on each of as many tensors, evaluated together
///   chain         one expression of that many operations
/// for 16 to `most` operations, four times as many from row to row. About `operations` of them are
/// made for each row, of which the median round counts; the device is idle before each, and the
/// rows take turns. Throws what the device throws.
[[nodiscard]] std::vector<PlanningRow> run_planning_bench(
    Device& device, std::uint64_t operations, std::uint64_t most = 4096,
    const std::function<void(const PlanningRow&)>& report = {});

}  // namespace forebay::tools
