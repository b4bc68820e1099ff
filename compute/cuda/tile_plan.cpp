#include "compute/cuda/tile_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "compute/cuda/kernel_arguments.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

namespace {

constexpr std::int64_t kLeastTiled = kStagedTile.inner * kStagedTile.across / 2;
constexpr unsigned kWarp = 32;
constexpr std::int64_t kLeastInner = 16;
constexpr std::int64_t kLeastAcross = 32;
constexpr std::size_t kMostTiledCode = 64;          // instructions
constexpr std::size_t kStaticShared = 48U * 1024U;  // what a block has on every device

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

}  // namespace

TileShape patch_tiles(std::int64_t inner, std::int64_t across, std::size_t bytes,
                      unsigned threads) noexcept {
  const auto power_of_two = [](std::int64_t elements, unsigned most) {
    return std::bit_ceil(static_cast<unsigned>(std::min<std::int64_t>(elements, most)));
  };
  const unsigned wide = power_of_two(divide_up(inner, kPatch), kWarp);
  const unsigned pass = threads / wide * kPatch;
  const unsigned most = pass * 8 / static_cast<unsigned>(bytes);
  return {wide * kPatch, std::max(pass, power_of_two(across, most))};
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
    const DType type = program.leaves[k].type;
    bytes += std::size_t{kStagedTile.inner} * staged_pitch(type) * size_of(type);
    if (bytes > kStaticShared) break;
    held |= 1U << k;
  }
  return held;
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

TilePlan plan_tiles(const Binding& binding, LyingAcross leaves, TileShape tile) noexcept {
  TilePlan plan{.tile = tile, .across = leaves.dimension, .leaves = leaves.leaves};
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

TilePlan plan_staged(const Program& program, const Binding& binding) noexcept {
  LyingAcross leaves = lying_across(program, binding);
  leaves.leaves = staged(program, leaves.leaves);
  return plan_tiles(binding, leaves, kStagedTile);
}

}  // namespace forebay::cuda
