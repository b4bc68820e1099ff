#include "compute/cuda/reduce_plan.hpp"

#include <algorithm>
#include <bit>

namespace forebay::cuda {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The smallest power of two that is at least `value`, at most `limit` (a power of two).
std::uint32_t power_of_two(std::int64_t value, std::uint32_t limit) {
  if (value >= limit) return limit;
  return std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(value, 1)));
}

}  // namespace

ReducePlan plan_reduction(const Dims& extents, std::uint8_t reduced_dims) noexcept {
  ReducePlan plan;
  bool innermost_reduced = true;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const bool reduced = (reduced_dims >> d & 1) != 0;
    (reduced ? plan.reduced : plan.kept) *= extents[d];
    if (extents[d] != 1) innermost_reduced = reduced;
  }
  plan.inner = innermost_reduced || plan.kept == 1;

  // One step should cover a short row, and warps should read neighbours: along the row if it is
  // contiguous, else across 32 rows.
  const std::uint32_t across = plan.inner ? 1 : power_of_two(plan.kept, 32);
  const std::uint32_t group =
      power_of_two(divide_up(plan.reduced, kStepElements), kReduceThreads / across);
  const std::uint32_t columns = power_of_two(plan.kept, kReduceThreads / group);
  plan.group_log2 = static_cast<std::uint32_t>(std::countr_zero(group));
  plan.columns_log2 = static_cast<std::uint32_t>(std::countr_zero(columns));
  plan.tiles = divide_up(plan.kept, columns);

  // A split costs a wait and a second tree, about as much as two steps.
  const std::int64_t step = std::int64_t{group} * kStepElements;
  const std::int64_t steps = std::max<std::int64_t>(divide_up(plan.reduced, step), 1);
  const std::int64_t most = std::min<std::int64_t>(kSplitBlocks, kSplitPartials / columns);
  const std::int64_t splits =
      steps <= 2 ? 1
                 : std::clamp<std::int64_t>(most / std::max<std::int64_t>(plan.tiles, 1), 1, steps);
  plan.chunk = divide_up(steps, splits) * step;
  plan.splits =
      static_cast<std::uint32_t>(std::max<std::int64_t>(divide_up(plan.reduced, plan.chunk), 1));
  return plan;
}

}  // namespace forebay::cuda
