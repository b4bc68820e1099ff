#include "compute/cuda/launch_plan.hpp"

#include <limits>

#include "compute/cuda/alignment.hpp"
#include "compute/cuda/program_text.hpp"

namespace forebay::cuda {
namespace {

using compute::Access;
using compute::Binding;
using compute::Program;

bool all_aligned(const Program& program, const KernelShape& shape, const Binding& binding) {
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    const compute::Leaf& leaf = program.leaves[k];
    if (leaf.access == Access::linear &&
        !is_aligned(binding.leaves[k], size_of(leaf.type), shape.run)) {
      return false;
    }
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const DType type = program.type_of(program.outputs[k].value);
    if (!is_aligned(binding.outputs[k], size_of(type), shape.run)) return false;
  }
  return true;
}

/// Whether every run of a row is within the row: neighbours of it are neighbours in memory.
bool rows_hold_runs(const KernelShape& shape, const Binding& binding) {
  return binding.extents.size() <= 1 ||
         binding.extents[binding.extents.size() - 1] % shape.run == 0;
}

/// The strided leaves whose runs are aligned and lie side by side.
std::uint32_t packed_leaves(const Program& program, const KernelShape& shape,
                            const Binding& binding) {
  std::uint32_t packed = 0;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if (program.leaves[k].access != Access::strided) continue;
    if (is_packed(binding.leaves[k], size_of(program.leaves[k].type), binding.strides[k],
                  binding.extents, binding.extents.size() - 1, shape.run)) {
      packed |= 1U << k;
    }
  }
  return packed;
}

unsigned grid(std::int64_t blocks) {
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error("a tensor of this size needs " + std::to_string(blocks) +
                " blocks; a launch has at most 2147483647");
  }
  return static_cast<unsigned>(blocks);
}

}  // namespace

LaunchPlan plan_launch(const Program& program, const KernelShape& shape, const Binding& binding,
                       int multiprocessors) {
  LaunchPlan launch;
  if (program.reduction) {
    ReducePlan& plan = launch.choices.plan;
    plan = plan_reduction(binding.extents, program.reduced_dims);
    if (plan.kept == 0) return launch;
    launch.choices.vector = shape.vector && (plan.kept == 1 || rows_hold_runs(shape, binding)) &&
                            all_aligned(program, shape, binding);
    if (launch.choices.vector) launch.choices.packed = packed_leaves(program, shape, binding);
    launch.threads = plan.threads();
    launch.blocks = grid(plan.blocks());
    return launch;
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : binding.extents) count *= extent;
  if (count == 0) return launch;
  launch.choices.vector = shape.vector && all_aligned(program, shape, binding) &&
                          (!has_strided_leaf(program) || rows_hold_runs(shape, binding));
  if (launch.choices.vector) launch.choices.packed = packed_leaves(program, shape, binding);
  if (shape.tiled()) {
    TilePlan& tiles = launch.choices.tiles;
    tiles = plan_staged(program, binding, shape.staged, launch.choices.vector ? shape.run : 1);
    launch.choices.copy_log2 = copy_log2(program, binding, tiles);
    launch.threads = shape.threads;
    launch.blocks = grid(tiles.blocks > 0 ? tiles.blocks : count);  // 0: more than there can be
    return launch;
  }
  // Small maps use small blocks, so that every multiprocessor has one.
  launch.threads = shape.threads;
  const auto blocks = [&] {
    const std::int64_t elements = std::int64_t{launch.threads} * shape.per_thread();
    return (count + elements - 1) / elements;
  };
  while (launch.threads > 64 && blocks() < multiprocessors) launch.threads /= 2;
  launch.blocks = grid(blocks());
  return launch;
}

}  // namespace forebay::cuda
