#include "compute/cuda/interpreter_plan.hpp"

#include <limits>
#include <string>

#include "compute/cuda/interpreter_arguments.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

namespace {

constexpr unsigned kFewestThreads = 32;

KernelShape shape_of(const Program& program) {
  KernelShape shape{.elements = program.reduction ? kFbElements : kFbMapElements,
                    .passes = 1,
                    .run = 4,
                    .vector = true};
  for (const compute::Leaf& leaf : program.leaves) {
    if (leaf.access == Access::strided) shape.vector = false;
  }
  // Vectors run along a row, as in the generated kernels.
  if (program.reduction && program.reduced_dims != 1U << (program.rank - 1)) shape.vector = false;
  return shape;
}

}  // namespace

InterpreterPlan plan_interpretation(const Program& program, const Bytecode& bytecode,
                                    const Binding& binding, int multiprocessors,
                                    std::size_t shared_limit) {
  InterpreterPlan plan;
  plan.launch = plan_launch(program, shape_of(program), binding, multiprocessors);
  if (plan.launch.blocks == 0) return plan;
  const bool reduces = program.reduction.has_value();
  const std::size_t limit = shared_limit - (reduces ? kInterpreterFoldBytes : 0);
  const auto bytes = [&](unsigned elements) {
    return std::size_t{4} * elements * bytecode.slots * plan.launch.threads;
  };
  // The threads of a reduction belong to its tree; a map takes fewer if they need much.
  const auto shrink = [&](unsigned elements, unsigned fewest) {
    while (!reduces && bytes(elements) > limit && plan.launch.threads > fewest) {
      plan.launch.threads /= 2;
    }
    return bytes(elements) <= limit;
  };
  plan.kernel = reduces ? InterpreterKernel::reduce : InterpreterKernel::map;
  unsigned elements = reduces ? kFbElements : kFbMapElements;
  const unsigned planned = plan.launch.threads;
  if (interpreter_bytes(program, bytecode) > kFbSmallBytes || !shrink(elements, 64)) {
    plan.kernel = reduces ? InterpreterKernel::reduce_large : InterpreterKernel::map_large;
    plan.launch.threads = planned;
    plan.launch.choices.vector = false;
    elements = 1;
    plan.possible =
        shrink(elements, kFewestThreads) && interpreter_bytes(program, bytecode) <= kFbLargeBytes;
  }
  plan.shared_bytes = bytes(elements);
  if (reduces || plan.launch.threads == planned) return plan;
  std::int64_t count = 1;
  for (const std::int64_t extent : binding.extents) count *= extent;
  const std::int64_t each = std::int64_t{plan.launch.threads} * kFbMapElements;
  const std::int64_t blocks = (count + each - 1) / each;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error("a tensor of this size needs " + std::to_string(blocks) +
                " blocks; a launch has at most 2147483647");
  }
  plan.launch.blocks = static_cast<unsigned>(blocks);
  return plan;
}

}  // namespace forebay::cuda
