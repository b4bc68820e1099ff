#include "compute/cuda/kernel_shape.hpp"

#include <algorithm>

#include "compute/cuda/program_text.hpp"
#include "compute/cuda/reduce_plan.hpp"
#include "compute/cuda/tile_plan.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Program;

namespace {

/// Bytes that a thread holds. Up to the larger of these 32 registers are enough for a map; a step
/// of a reduction takes 32 or 40 up to the smaller, 48 up to the larger.
constexpr std::size_t kSlimStep = 32;
constexpr std::size_t kLightBatch = 64;
constexpr unsigned kBatchWeight = 200;
/// Of maps by tiles: up to this weight, and these bytes of registers that hold the elements of a
/// patch, all of them are written out; more than the smaller number takes more than 64 registers.
constexpr unsigned kTiledWeight = 80;
constexpr std::size_t kSlimPatch = 192;
constexpr std::size_t kTiledPatch = 384;

/// What loads cost is how many are in flight, and these take blocks: with few registers a
/// multiprocessor holds more of them. Programs that need more would spill.
unsigned residents(const Program& program, const KernelShape& shape, unsigned work) {
  if (work > kWideWeight) return 1;
  std::size_t held = 0;
  for (const compute::Leaf& leaf : program.leaves) {
    if (leaf.access != Access::single) held += shape.elements * size_of(leaf.type);
  }
  if (!program.reduction) return held <= kLightBatch ? 2048 / shape.threads : 1;
  const compute::ReduceRule rule =
      rule_of(program.reduction->op, program.type_of(program.reduction->value));
  if (rule.indexed) return 1;
  held = std::max(held, kStepElements * size_of(rule.term));
  if (held <= kSlimStep) return shape.vector ? 8 : 6;
  return held <= kLightBatch ? 5 : 1;
}

}  // namespace

KernelShape kernel_shape(const Program& program, std::uint32_t staged) {
  unsigned linear = 0;
  bool strided = false;
  std::size_t widest = 1;  // bytes of an element that goes in or out
  for (const compute::Leaf& leaf : program.leaves) {
    strided = strided || leaf.access == Access::strided;
    if (leaf.access != Access::linear) continue;
    ++linear;
    widest = std::max(widest, size_of(leaf.type));
  }
  for (const compute::Output& output : program.outputs) {
    widest = std::max(widest, size_of(program.type_of(output.value)));
  }
  const unsigned work = weight(program);
  KernelShape shape;
  if (program.reduction) {
    // Vectors run along a row: the last dimension must be the reduced one, and the only one. The
    // order of a row's elements is part of the tree, so it hangs on the reduced type alone.
    const bool along =
        program.reduced_dims != 0 && program.reduced_dims == 1U << (program.rank - 1);
    shape.run = row_run(size_of(program.type_of(program.reduction->value)));
    shape.elements = work <= kBatchWeight / 2 ? kStepElements : 1;
    shape.passes = kStepElements / shape.elements;
    shape.vector = shape.passes == 1 && along;
    shape.threads = kReduceThreads;
    shape.residents = residents(program, shape, work);
    return shape;
  }
  if (staged != 0) {
    shape.run = patch_of(program);
    std::size_t held = 0;
    for (const compute::Leaf& leaf : program.leaves) {
      if (leaf.access != Access::single) {
        held += kOfPatch * std::max(size_of(leaf.type), sizeof(std::uint32_t));
      }
    }
    const bool all = work <= kTiledWeight && held <= kTiledPatch;
    shape.elements = all ? kOfPatch : shape.run;
    shape.passes = kOfPatch / shape.elements;
    shape.vector = true;
    shape.threads = kTiledThreads;
    shape.residents = all && held > kSlimPatch ? 2 : 4;
    shape.staged = staged;
    return shape;
  }
  // Sixteen bytes of the widest type; long code of narrow types is not written out that often.
  shape.run = std::min(16U / static_cast<unsigned>(widest), work <= kWideWeight ? 16U : 4U);
  shape.elements = work > kBatchWeight ? 1 : !strided && linear <= 2 && work <= kWideWeight ? 8 : 4;
  shape.passes = shape.elements == 1 ? 4 : 1;
  shape.vector = shape.passes == 1;
  if (shape.vector) shape.elements = std::max(shape.elements, shape.run);
  shape.threads = kMapThreads;
  shape.residents = residents(program, shape, work);
  return shape;
}

}  // namespace forebay::cuda
