#include "compute/cuda/interpreter_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "compute/cuda/alignment.hpp"
#include "compute/cuda/interpreter_arguments.hpp"
#include "compute/cuda/tile_plan.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

namespace {

/// Blocks of fewer threads leave most of a multiprocessor idle; the large kernels go further, since
/// a program that needs it has to run.
constexpr unsigned kFewestThreads = 64;
constexpr unsigned kFewestLargeThreads = 8;

/// Elements that 16 bytes hold of the widest that is read or written one by one.
unsigned elements_of_16_bytes(const Program& program) {
  std::size_t widest = 1;
  for (const compute::Leaf& leaf : program.leaves) {
    if (leaf.access != Access::single) widest = std::max(widest, size_of(leaf.type));
  }
  for (const compute::Output& output : program.outputs) {
    widest = std::max(widest, size_of(program.type_of(output.value)));
  }
  return 16 / static_cast<unsigned>(widest);
}

/// `most` elements, or half of that, but 4 at least, or else 1. Pieces never reach over the end of
/// a row of the innermost dimension that is walked.
unsigned piece_of(const Program& program, const Binding& binding, unsigned most) {
  unsigned walked = 0;
  std::int64_t inner = 1;
  for (unsigned d = 0; d < program.rank; ++d) {
    if (program.reduction && (program.reduced_dims >> d & 1) == 0) continue;
    ++walked;
    inner = binding.extents[d];
  }
  const bool strided = has_strided_leaf(program);
  const auto fits = [&](unsigned piece) {
    const bool in_rows = walked == 1 || inner % piece == 0;
    if (program.reduction || (strided && (piece <= 4 || !in_rows))) return in_rows;
    // Neighbouring threads read neighbours where nothing is aligned.
    const auto aligned = [&](const void* address, DType type) {
      return is_aligned(address, size_of(type), piece);
    };
    for (std::size_t k = 0; k < program.leaves.size(); ++k) {
      const DType type = program.leaves[k].type;
      const Access access = program.leaves[k].access;
      if (access == Access::linear && !aligned(binding.leaves[k], type)) return false;
      if (access == Access::strided &&
          !is_packed(binding.leaves[k], size_of(type), binding.strides[k], binding.extents,
                     program.rank - 1U, piece)) {
        return false;
      }
    }
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      if (!aligned(binding.outputs[k], program.type_of(program.outputs[k].value))) return false;
    }
    return true;
  };
  unsigned piece = most;
  while (piece > 4 && !fits(piece)) piece /= 2;
  return fits(piece) ? piece : 1;
}

/// The leaves of `across`, the first ones first, of which `limit` bytes of shared memory hold their
/// parts of a tile.
TilePlan stage(const Program& program, const Binding& binding, LyingAcross across, unsigned threads,
               std::size_t limit) {
  std::size_t widest = 1;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if ((across.leaves >> k & 1) != 0) widest = std::max(widest, size_of(program.leaves[k].type));
  }
  const TileShape tile =
      patch_tiles(binding.extents[binding.extents.size() - 1], binding.extents[across.dimension],
                  kPatch, passes_of(widest), threads);
  std::size_t held = 0;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if ((across.leaves >> k & 1) == 0) continue;
    held += staged_bytes(tile, program.leaves[k].type);
    if (held > limit) across.leaves &= (1U << k) - 1;
  }
  return plan_tiles(binding, across, tile, kPatch);
}

/// Makes the plan one for the kernel of tiles, if the program's data lies that way and a block can
/// hold its part of at least one such leaf beside its values.
bool go_by_tiles(const Program& program, const Bytecode& bytecode, const Binding& binding,
                 std::size_t limit, InterpreterPlan& plan) {
  const LyingAcross across = lying_across(program, binding);
  if (across.leaves == 0) return false;
  for (unsigned threads = kTiledThreads; threads >= kFewestThreads; threads /= 2) {
    const std::size_t slots = std::size_t{4} * kFbMapElements * bytecode.slots * threads;
    if (slots > limit) continue;
    const TilePlan tiles = stage(program, binding, across, threads, limit - slots);
    if (tiles.blocks == 0) continue;
    plan.kernel = InterpreterKernel::map_tiled;
    plan.length = ParameterLength::full;
    plan.piece = piece_of(program, binding, std::min(elements_of_16_bytes(program), kPatch));
    plan.shared_bytes = slots;
    for (std::size_t k = 0; k < program.leaves.size(); ++k) {
      if ((tiles.leaves >> k & 1) == 0) continue;
      plan.shared_bytes += staged_bytes(tiles.tile, program.leaves[k].type);
    }
    plan.launch.threads = threads;
    plan.launch.choices.tiles = tiles;
    plan.launch.choices.copy_log2 = copy_log2(program, binding, tiles);
    plan.launch.blocks = static_cast<unsigned>(tiles.blocks);
    return true;
  }
  return false;
}

}  // namespace

InterpreterPlan plan_interpretation(const Program& program, const Bytecode& bytecode,
                                    const Binding& binding, int multiprocessors,
                                    std::size_t shared_limit) {
  const bool reduces = program.reduction.has_value();
  InterpreterPlan plan;
  KernelShape shape;
  shape.elements = reduces ? kFbElements : kFbMapElements;
  plan.launch = plan_launch(program, shape, binding, multiprocessors);
  LaunchPlan& launch = plan.launch;
  if (launch.blocks == 0) return plan;
  if (reduces) plan.run = row_run(size_of(program.type_of(program.reduction->value)));

  const std::size_t limit = shared_limit - kInterpreterStaticBytes;
  const std::size_t argument_bytes = interpreter_bytes(program, bytecode);
  const auto bytes = [&](unsigned elements) {
    return std::size_t{4} * elements * bytecode.slots * launch.threads;
  };
  const auto fits = [&](unsigned elements, unsigned fewest) {
    while (bytes(elements) > limit && launch.threads > fewest) launch.threads /= 2;
    return bytes(elements) <= limit;
  };
  const unsigned planned = launch.threads;
  unsigned elements = shape.elements;
  plan.kernel = bytecode.typed
                    ? (reduces ? InterpreterKernel::reduce_typed : InterpreterKernel::map_typed)
                    : (reduces ? InterpreterKernel::reduce : InterpreterKernel::map);
  const ReducePlan& tree = launch.choices.plan;
  if (plan.kernel == InterpreterKernel::reduce && bytes(kFbStepsElements) <= limit &&
      tree.chunk > (std::int64_t{kFbElements} << tree.group_log2)) {
    plan.kernel = InterpreterKernel::reduce_steps;
    elements = kFbStepsElements;
  }
  // The threads of a reduction belong to its tree; only the large kernel does the work of several
  // in one.
  if (argument_bytes > kFbSmallBytes || !fits(elements, reduces ? planned : kFewestThreads)) {
    plan.kernel = reduces ? InterpreterKernel::reduce_large : InterpreterKernel::map_large;
    launch.threads = planned;
    elements = kFbLargeElements;
    if (argument_bytes > kFbLargeBytes || !fits(elements, kFewestLargeThreads)) {
      throw Error("a program of " + std::to_string(argument_bytes) + " bytes and " +
                  std::to_string(bytecode.slots) +
                  " live values is too large for the interpreter; its limits were ignored");
    }
  }
  if (argument_bytes <= kFbBriefBytes && exists(plan.kernel, ParameterLength::brief)) {
    plan.length = ParameterLength::brief;
  }
  plan.shared_bytes = bytes(elements);
  plan.piece = piece_of(
      program, binding,
      reduces ? std::min(plan.run, 4U) : std::min(elements, elements_of_16_bytes(program)));
  if (!reduces && plan.kernel != InterpreterKernel::map_large &&
      go_by_tiles(program, bytecode, binding, limit, plan)) {
    return plan;
  }
  if (reduces || launch.threads == planned) return plan;
  std::int64_t count = 1;
  for (const std::int64_t extent : binding.extents) count *= extent;
  const std::int64_t each = std::int64_t{launch.threads} * kFbMapElements;
  const std::int64_t blocks = (count + each - 1) / each;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error("a tensor of this size needs " + std::to_string(blocks) +
                " blocks; a launch has at most 2147483647");
  }
  launch.blocks = static_cast<unsigned>(blocks);
  return plan;
}

}  // namespace forebay::cuda
