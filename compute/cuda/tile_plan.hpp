// Maps whose inputs lie across their outputs: which they are, and how their space is cut into
// tiles.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compute/cuda/bytecode.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// What one block walks: so many elements of the innermost dimension, and of another one along
/// which a leaf's elements are neighbours.
struct TileShape {
  unsigned inner = 0, across = 0;
};

/// Elements of a patch, what a thread takes at once (kFbOfPatch of tiles.inl), and those along both
/// dimensions (kFbPatch) if nothing speaks for another form.
inline constexpr unsigned kOfPatch = 16;
inline constexpr unsigned kPatch = 4;

/// Threads of a block, fewer in the interpreter if their values do not fit.
inline constexpr unsigned kTiledThreads = 256;
/// Bytes that a block of a generated kernel holds of staged leaves at most: what every device has
/// without asking.
inline constexpr std::size_t kTiledBytes = 48U * 1024U;

/// Of a patch of a generated kernel, along the innermost dimension: a patch's part of a row has
/// sixteen bytes at most, so that neighbouring threads write all of a line at once.
[[nodiscard]] unsigned patch_of(const compute::Program& program) noexcept;

/// Patches of `patch` elements side by side along the innermost dimension as far as it reaches, up
/// to a warp's, or to four warps' if they are of one element; and so many along the other one as it
/// reaches, up to `passes` of the block.
[[nodiscard]] TileShape patch_tiles(std::int64_t inner, std::int64_t across, unsigned patch,
                                    unsigned passes, unsigned threads) noexcept;
/// Passes of kTiledThreads with which a row of what is staged, with elements of at most `bytes`,
/// has 256 bytes or more where both dimensions are long enough.
[[nodiscard]] constexpr unsigned passes_of(std::size_t bytes) noexcept {
  return 8 / static_cast<unsigned>(bytes);
}
/// Those of a generated kernel, as far as kTiledBytes hold the tiles. REQUIRES: staged leaves.
[[nodiscard]] unsigned passes_of(const compute::Program& program, std::uint32_t staged) noexcept;

/// The tiles of one launch.
struct TilePlan {
  TileShape tile;
  unsigned patch = kPatch;   ///< elements of a patch along the innermost dimension
  unsigned across = 0;       ///< the other dimension
  std::uint32_t leaves = 0;  ///< bit k: to be staged, leaf k has its neighbours along `across`
  std::uint32_t inner_tiles = 0, across_tiles = 0;
  std::int64_t blocks = 0;  ///< 0: the space is walked in its own order

  [[nodiscard]] unsigned patch_log2() const noexcept {
    return static_cast<unsigned>(std::countr_zero(patch));
  }
  /// Of the patches beside each other, and of the elements of a tile along `across`.
  [[nodiscard]] unsigned wide_log2() const noexcept {
    return static_cast<unsigned>(std::countr_zero(tile.inner / patch));
  }
  [[nodiscard]] unsigned across_log2() const noexcept {
    return static_cast<unsigned>(std::countr_zero(tile.across));
  }
};

/// Whether a program is walked by tiles where its data asks for it: a map with strided leaves. Long
/// ones are bound by their operations and go in the order of their outputs.
[[nodiscard]] bool may_tile(const compute::Program& program) noexcept;

/// Those of `leaves` (bit k: leaf k), the first ones first, of which kTiledBytes hold what a block
/// has in one pass.
[[nodiscard]] std::uint32_t staged(const compute::Program& program, std::uint32_t leaves) noexcept;

/// Leaves whose elements are neighbours along another dimension than the outputs', and which that
/// is; none in a program that may have no tiles. Both dimensions have to be long enough for a warp,
/// and to hold 2048 elements together: what is smaller comes out of the first cache in any
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
                                  TileShape tile, unsigned patch) noexcept;
/// Log2 of the bytes, sixteen at most, that may be copied at once of every leaf that is staged.
[[nodiscard]] unsigned copy_log2(const compute::Program& program, const compute::Binding& binding,
                                 const TilePlan& tiles) noexcept;
/// Those of a generated kernel: the one that suits the data, or that for certain staged leaves with
/// patches of so many elements side by side.
[[nodiscard]] TilePlan plan_staged(const compute::Program& program,
                                   const compute::Binding& binding) noexcept;
[[nodiscard]] TilePlan plan_staged(const compute::Program& program, const compute::Binding& binding,
                                   std::uint32_t leaves, unsigned patch) noexcept;

}  // namespace forebay::cuda
