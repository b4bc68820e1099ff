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

constexpr std::size_t kMostTiledCode = 64;  // instructions

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The dimension along which a leaf's elements are neighbours while those of a row are not; the
/// innermost one if there is no such leaf.
std::size_t across_dimension(const Program& program, const Binding& binding) {
  const std::size_t inner = binding.extents.size() - 1;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if (program.leaves[k].access != Access::strided) continue;
    const Dims& strides = binding.strides[k];
    if (std::abs(strides[inner]) <= 1) continue;
    for (std::size_t d = 0; d < inner; ++d) {
      if (std::abs(strides[d]) == 1 && binding.extents[d] >= kFbTileAcross) return d;
    }
  }
  return inner;
}

}  // namespace

bool may_tile(const Program& program) noexcept {
  return !program.reduction && program.rank > 1 && program.code.size() <= kMostTiledCode &&
         has_strided_leaf(program);
}

TilePlan plan_tiles(const Program& program, const Binding& binding, unsigned threads) noexcept {
  TilePlan plan;
  if (!may_tile(program)) return plan;
  const std::size_t inner = binding.extents.size() - 1;
  const std::size_t across = across_dimension(program, binding);
  if (across == inner || binding.extents[inner] < kFbTileInner) return plan;
  const unsigned warps = threads / kFbWarp;
  const std::int64_t warps_inner = divide_up(binding.extents[inner], kFbTileInner);
  const auto wide = static_cast<unsigned>(std::min<std::int64_t>(warps, warps_inner));
  plan.across = static_cast<unsigned>(across);
  plan.wide_log2 = static_cast<unsigned>(std::bit_width(wide)) - 1;
  const std::int64_t block_inner = std::int64_t{kFbTileInner} << plan.wide_log2;
  const std::int64_t block_across = std::int64_t{kFbTileAcross} * (warps >> plan.wide_log2);
  const std::int64_t inner_tiles = divide_up(binding.extents[inner], block_inner);
  const std::int64_t across_tiles = divide_up(binding.extents[across], block_across);
  std::int64_t others = 1;
  for (std::size_t d = 0; d < inner; ++d) others *= d == across ? 1 : binding.extents[d];
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

}  // namespace forebay::cuda
