// How a reduction is spread over blocks and threads: a function of its shape alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// Elements that one thread takes from its row in one step.
inline constexpr unsigned kStepElements = 8;
inline constexpr unsigned kReduceThreads = 256;
/// The most blocks of a reduction whose rows are split, and the most partial sums that they write.
inline constexpr unsigned kSplitBlocks = 4096;
inline constexpr unsigned kSplitPartials = 65536;
/// Bytes of what a block leaves for the largest total, a number and an index (blocks.inl).
inline constexpr unsigned kMostPartial = 32;

/// Neighbours in a row that a thread takes together, by the bytes of an element of what is reduced:
/// 16 bytes of them, and a part of the tree.
[[nodiscard]] constexpr unsigned row_run(std::size_t bytes) noexcept {
  const unsigned run = 16 / static_cast<unsigned>(bytes);
  return run < kStepElements ? run : kStepElements;
}

/// The tree of a reduction. A *row* is what is summed into one result: `reduced` elements for each
/// of the `kept` results. A block holds `columns` rows at a time, `group` threads each; long rows
/// are cut into `splits` chunks, each a block's, and the block of the last chunk joins their
/// totals.
///
/// Invariants: a function of `kept`, `reduced` and `inner`, so that a sum has the same bits
/// whatever was fused in front of it, wherever it lies, however many multiprocessors there are;
/// group and columns are powers of two with group * columns <= kReduceThreads;
/// chunk is a multiple of group * kStepElements.
struct ReducePlan {
  std::int64_t kept = 1;
  std::int64_t reduced = 1;
  std::int64_t chunk = 1;
  std::int64_t tiles = 1;  ///< blocks side by side, `columns` rows each
  std::uint32_t splits = 1;
  std::uint32_t group_log2 = 0;
  std::uint32_t columns_log2 = 0;
  bool inner = true;  ///< neighbours in memory belong to one row, so neighbouring threads share it

  /// Chunk by chunk, those of all tiles.
  [[nodiscard]] std::int64_t blocks() const noexcept { return tiles * splits; }
  /// The last so many blocks wait for those before them.
  [[nodiscard]] unsigned waiting() const noexcept {
    return splits == 1 ? 0 : static_cast<unsigned>(tiles);
  }
  [[nodiscard]] unsigned threads() const noexcept { return 1U << (group_log2 + columns_log2); }
  /// Totals that blocks leave for others; 0 without a split.
  [[nodiscard]] std::size_t partials() const noexcept {
    return splits == 1 ? 0 : static_cast<std::size_t>(blocks()) << columns_log2;
  }
};

/// `reduced_dims` as in Program. Extents of 1 do not matter.
[[nodiscard]] ReducePlan plan_reduction(const Dims& extents, std::uint8_t reduced_dims) noexcept;

}  // namespace forebay::cuda
