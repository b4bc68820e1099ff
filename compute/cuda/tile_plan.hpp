// Maps whose inputs lie across their outputs: which they are, and how their space is cut into
// tiles.
#pragma once

#include <cstdint>

#include "compute/cuda/bytecode.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// What one block walks: so many elements of the innermost dimension, and of another one along
/// which a leaf's elements are neighbours.
struct TileShape {
  unsigned inner = 0, across = 0;
};

/// Of a patch, along both dimensions (kFbPatch of tiles.inl).
inline constexpr unsigned kPatch = 4;

/// Of generated kernels: a tile of a leaf goes through shared memory, read along one dimension and
/// used along the other.
inline constexpr TileShape kStagedTile{64, 64};
inline constexpr unsigned kStagedThreads = 256;
/// Elements from a row of a staged tile to the next: by an odd number of words or more, so that
/// neighbouring threads meet no bank twice.
[[nodiscard]] constexpr unsigned staged_pitch(DType type) noexcept {
  const auto size = static_cast<unsigned>(size_of(type));
  return kStagedTile.across + (size < 4 ? 4 / size : 1);
}
/// Of the interpreter: patches (tiles.inl) side by side along the innermost dimension as far as it
/// reaches, up to a warp's; and so many along the other one that a row of what is staged, with
/// elements of at most `bytes`, has 256 bytes where both dimensions are long enough.
[[nodiscard]] TileShape patch_tiles(std::int64_t inner, std::int64_t across, std::size_t bytes,
                                    unsigned threads) noexcept;

/// The tiles of one launch.
struct TilePlan {
  TileShape tile;
  unsigned across = 0;       ///< the other dimension
  std::uint32_t leaves = 0;  ///< bit k: to be staged, leaf k has its neighbours along `across`
  std::uint32_t inner_tiles = 0, across_tiles = 0;
  std::int64_t blocks = 0;  ///< 0: the space is walked in its own order
};

/// Whether a program is walked by tiles where its data asks for it: a map with strided leaves. Long
/// ones are bound by their operations and go in the order of their outputs.
[[nodiscard]] bool may_tile(const compute::Program& program) noexcept;

/// Those of `leaves` (bit k: leaf k), the first ones first, of which shared memory holds a
/// kStagedTile each.
[[nodiscard]] std::uint32_t staged(const compute::Program& program, std::uint32_t leaves) noexcept;

/// Leaves whose elements are neighbours along another dimension than the outputs', and which that
/// is; none in a program that may have no tiles. Both dimensions have to be long enough for a warp,
/// and to hold half a kStagedTile together: what is smaller comes out of the first cache in any
/// order.
struct LyingAcross {
  unsigned dimension = 0;
  std::uint32_t leaves = 0;  ///< bit k: leaf k
};
[[nodiscard]] LyingAcross lying_across(const compute::Program& program,
                                       const compute::Binding& binding) noexcept;

/// The space in tiles; all `leaves` will be staged. No blocks if there are none of them, or if a
/// grid has too few.
[[nodiscard]] TilePlan plan_tiles(const compute::Binding& binding, LyingAcross leaves,
                                  TileShape tile) noexcept;
/// Those of a generated kernel.
[[nodiscard]] TilePlan plan_staged(const compute::Program& program,
                                   const compute::Binding& binding) noexcept;

}  // namespace forebay::cuda
