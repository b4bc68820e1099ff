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
/// Of the interpreter, whose threads read their own elements: warps of kFbTileInner by
/// kFbTileAcross elements, side by side along an innermost dimension of `extent` as far as it
/// reaches, then along the other one. Sectors of 32 bytes are read and written as a whole.
[[nodiscard]] TileShape warp_tiles(std::int64_t extent, unsigned threads) noexcept;

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

/// Tiles for a program that may have them, where a leaf's elements are neighbours along another
/// dimension than its outputs'. Both have to be long enough for a warp, and to hold half a
/// kStagedTile together: what is smaller comes out of the first cache in any order.
[[nodiscard]] TilePlan plan_tiles(const compute::Program& program, const compute::Binding& binding,
                                  TileShape tile) noexcept;

}  // namespace forebay::cuda
