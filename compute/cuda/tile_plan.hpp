// Maps whose inputs lie across their outputs: which they are, and how their space is cut into
// tiles.
#pragma once

#include <cstdint>

#include "compute/cuda/bytecode.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// The tiles of one launch. A warp walks kFbTileInner elements of the innermost dimension by
/// kFbTileAcross of another one, along which a leaf's elements are neighbours, so that both what it
/// reads and what it writes comes in whole sectors of 32 bytes. The warps of a block lie side by
/// side along the innermost dimension as far as it reaches, then along the other one.
struct TilePlan {
  unsigned across = 0;  ///< the other dimension; 0 is one, so `blocks` says whether there are any
  unsigned wide_log2 = 0;  ///< warps of a block side by side along the innermost dimension
  std::uint32_t inner_tiles = 0, across_tiles = 0;  ///< tiles of blocks along each
  std::int64_t blocks = 0;                          ///< 0: the space is walked in its own order
};

/// Whether a program is walked by tiles where its data asks for it: a map with strided leaves. Long
/// ones are bound by their operations and go in the order of their outputs.
[[nodiscard]] bool may_tile(const compute::Program& program) noexcept;

/// Tiles of blocks of so many threads for a program that may have them, where a leaf's elements are
/// neighbours along another dimension than its outputs', and both are long enough for a warp.
[[nodiscard]] TilePlan plan_tiles(const compute::Program& program, const compute::Binding& binding,
                                  unsigned threads) noexcept;

}  // namespace forebay::cuda
