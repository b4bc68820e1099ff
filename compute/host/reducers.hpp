// What a reduction does with the values of a block, for each operation and type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forebay/compute/op.hpp"

namespace forebay::compute::host {

inline constexpr std::size_t kMaxStateBytes = 16;
/// Rows that join the states of their columns together: states are loaded and stored once for them.
inline constexpr std::size_t kRowsTogether = 4;

/// A state is what a part of a result's elements was reduced to: a number of the rule's total type,
/// with argmin and argmax an index beside it.
struct Reducer {
  std::size_t state_bytes;
  /// n states of no elements.
  void (*start)(void* states, std::size_t n);
  /// n <= 1024 values join one state; `index` is that of the first one among the result's elements.
  /// Sums: fewer than 16 in order, others in lanes that are folded by halves; the order depends on
  /// n alone.
  void (*row)(void* state, const void* values, std::size_t n, std::uint64_t index);
  /// Value i of each of `count` <= kRowsTogether rows joins state i, one row after the other;
  /// `index` is that of the first row's values, and those of each further row are one more.
  void (*columns)(void* states, const void* const* rows, std::size_t count, std::size_t n,
                  std::uint64_t index);
  /// State i of `other` joins state i; its elements come later.
  void (*join)(void* states, const void* other, std::size_t n);
  /// argmin and argmax: n states become n indices (i64) in their place; else null.
  void (*indices)(void* states, std::size_t n);
};

/// `type` is a type of blocks (kernels.hpp).
[[nodiscard]] const Reducer& reducer_of(ReduceOp op, DType type) noexcept;

}  // namespace forebay::compute::host
