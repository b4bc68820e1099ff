#include "compute/cuda/tile_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "compute/cuda/alignment.hpp"
#include "compute/cuda/kernel_arguments.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

namespace {

constexpr std::int64_t kLeastTiled = 2048;
constexpr unsigned kWarp = 32;
constexpr std::int64_t kLeastInner = 16;
constexpr std::int64_t kLeastAcross = 32;
constexpr std::size_t kMostTiledCode = 64;  // instructions
constexpr std::size_t kOfPass = std::size_t{kTiledThreads} * kOfPatch;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Whether the leaf's elements are neighbours along dimension d but not along the innermost one,
/// and both are long enough.
bool lies_across(const Program& program, const Binding& binding, std::size_t leaf, std::size_t d) {
  if (program.leaves[leaf].access != Access::strided) return false;
  const Dims& strides = binding.strides[leaf];
  const std::size_t inner = strides.size() - 1;
  const std::int64_t across = binding.extents[d];
  const bool long_enough =
      across >= kLeastAcross && binding.extents[inner] >= divide_up(kLeastTiled, across);
  return long_enough && std::abs(strides[d]) == 1 && std::abs(strides[inner]) > 1;
}

/// Whether every leaf that is staged lies so that 1 << log2 bytes of it go together.
bool all_go_by(const Program& program, const Binding& binding, const TilePlan& tiles,
               unsigned log2) {
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if ((tiles.leaves >> k & 1) == 0) continue;
    const std::size_t size = size_of(program.leaves[k].type);
    const std::size_t elements = (std::size_t{1} << log2) / size;
    if (elements > 1 && !is_packed(binding.leaves[k], size, binding.strides[k], binding.extents,
                                   tiles.across, static_cast<unsigned>(elements))) {
      return false;
    }
  }
  return true;
}

}  // namespace

unsigned patch_of(const Program& program) noexcept {
  unsigned patch = kPatch;
  for (const compute::Output& output : program.outputs) {
    const auto bytes = static_cast<unsigned>(size_of(program.type_of(output.value)));
    patch = std::min(patch, 16 / bytes);
  }
  return patch;
}

TileShape patch_tiles(std::int64_t inner, std::int64_t across, unsigned patch, unsigned passes,
                      unsigned threads) noexcept {
  const auto power_of_two = [](std::int64_t elements, unsigned most) {
    return std::bit_ceil(static_cast<unsigned>(std::min<std::int64_t>(elements, most)));
  };
  // As many elements with patches of one: a row of fewer is a part of a line.
  const unsigned most = patch == 1 ? kWarp * kPatch : kWarp;
  const unsigned wide = power_of_two(divide_up(inner, patch), most);
  const unsigned pass = threads / wide * (kOfPatch / patch);
  return {wide * patch, std::max(pass, power_of_two(across, pass * passes))};
}

bool may_tile(const Program& program) noexcept {
  return !program.reduction && program.rank > 1 && program.code.size() <= kMostTiledCode &&
         has_strided_leaf(program);
}

std::uint32_t staged(const Program& program, std::uint32_t leaves) noexcept {
  std::size_t bytes = 0;
  std::uint32_t held = 0;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if ((leaves >> k & 1) == 0) continue;
    bytes += kOfPass * size_of(program.leaves[k].type);
    if (bytes > kTiledBytes) break;
    held |= 1U << k;
  }
  return held;
}

unsigned passes_of(const Program& program, std::uint32_t staged) noexcept {
  std::size_t widest = 1;
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if ((staged >> k & 1) == 0) continue;
    widest = std::max(widest, size_of(program.leaves[k].type));
    bytes += kOfPass * size_of(program.leaves[k].type);
  }
  unsigned passes = passes_of(widest);
  while (passes > 1 && passes * bytes > kTiledBytes) passes /= 2;
  return passes;
}

LyingAcross lying_across(const Program& program, const Binding& binding) noexcept {
  LyingAcross found;
  const std::size_t inner = binding.extents.size() - 1;
  if (!may_tile(program) || binding.extents[inner] < kLeastInner) return found;
  // The first such leaf decides on the dimension.
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    const bool first = found.leaves == 0;
    for (std::size_t d = first ? 0 : found.dimension; d < (first ? inner : found.dimension + 1U);
         ++d) {
      if (!lies_across(program, binding, k, d)) continue;
      found.dimension = static_cast<unsigned>(d);
      found.leaves |= 1U << k;
      break;
    }
  }
  return found;
}

TilePlan plan_tiles(const Binding& binding, LyingAcross leaves, TileShape tile,
                    unsigned patch) noexcept {
  TilePlan plan{.tile = tile, .patch = patch, .across = leaves.dimension, .leaves = leaves.leaves};
  if (leaves.leaves == 0) return plan;
  const std::size_t inner = binding.extents.size() - 1;
  const std::int64_t inner_tiles = divide_up(binding.extents[inner], tile.inner);
  const std::int64_t across_tiles = divide_up(binding.extents[plan.across], tile.across);
  std::int64_t others = 1;
  for (std::size_t d = 0; d < inner; ++d) others *= d == plan.across ? 1 : binding.extents[d];
  if (others == 0) return plan;
  // More blocks than a grid has are walked in the space's own order.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (inner_tiles > kMost / across_tiles || inner_tiles * across_tiles > kMost / others) {
    return plan;
  }
  plan.inner_tiles = static_cast<std::uint32_t>(inner_tiles);
  plan.across_tiles = static_cast<std::uint32_t>(across_tiles);
  plan.blocks = inner_tiles * across_tiles * others;
  return plan;
}

unsigned copy_log2(const Program& program, const Binding& binding, const TilePlan& tiles) noexcept {
  unsigned log2 = 4;
  while (log2 > 0 && !all_go_by(program, binding, tiles, log2)) --log2;
  return log2;
}

TilePlan plan_staged(const Program& program, const Binding& binding) noexcept {
  return plan_staged(program, binding, staged(program, lying_across(program, binding).leaves),
                     patch_of(program));
}

TilePlan plan_staged(const Program& program, const Binding& binding, std::uint32_t leaves,
                     unsigned patch) noexcept {
  if (leaves == 0) return {};
  const unsigned across = lying_across(program, binding).dimension;
  const TileShape tile =
      patch_tiles(binding.extents[binding.extents.size() - 1], binding.extents[across], patch,
                  passes_of(program, leaves), kTiledThreads);
  return plan_tiles(binding, {.dimension = across, .leaves = leaves}, tile, patch);
}

}  // namespace forebay::cuda
