// The loops of the host: one function for each operation and type, over contiguous elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "forebay/compute/program.hpp"

namespace forebay::compute::host {

/// Values of f16 and bf16 are floats within a block, each of them a number that the narrow type
/// has: what is loaded is widened, what is computed is rounded, what is stored is narrowed. So they
/// need no loops of their own.
[[nodiscard]] constexpr bool is_narrow(DType type) noexcept {
  return type == DType::f16 || type == DType::bf16;
}
[[nodiscard]] constexpr DType block_type(DType type) noexcept {
  return is_narrow(type) ? DType::f32 : type;
}
/// Bytes of an element within a block.
[[nodiscard]] constexpr std::size_t block_size(DType type) noexcept {
  return size_of(block_type(type));
}
/// Bytes of a line of the cache.
inline constexpr std::size_t kLine = 64;

/// out[i] = op(a[i], b[i], c[i]) for i < n; `index` is the position of element 0 in its tensor.
/// `out` may be the same as an operand of the same size. Elements are aligned to their size at
/// least.
using Kernel = void (*)(const void* a, const void* b, const void* c, void* out, std::size_t n,
                        std::uint64_t index);

/// The loop of `op` for a first operand of type `a` and a result of type `result`, both types of
/// blocks; null if there is no such operation. The result is not yet rounded to a narrow type.
[[nodiscard]] Kernel find_kernel(Op op, DType a, DType result) noexcept;
struct Loop;
/// The table's row of that loop, which has the same one over a first or second operand of one
/// element for all; null if there is no such operation.
[[nodiscard]] const Loop* find_loop(Op op, DType a, DType result) noexcept;

/// float to float: the nearest number that f16 or bf16 has.
[[nodiscard]] Kernel rounding_kernel(DType narrow) noexcept;
/// From a block's type to float, so that rounding it to a narrow type rounds the exact number.
[[nodiscard]] Kernel odd_kernel(DType type) noexcept;
/// Between memory and blocks.
[[nodiscard]] Kernel widening_kernel(DType narrow) noexcept;
[[nodiscard]] Kernel narrowing_kernel(DType narrow) noexcept;

/// Whether elements in memory are as they are in a block. Those of narrow types are widened, and
/// booleans of other libraries may be any byte: what is not 0 is true. The loops take such bytes;
/// what is reduced or stored has to be 0 or 1.
[[nodiscard]] constexpr bool is_as_in_memory(DType type) noexcept {
  return !is_narrow(type) && type != DType::boolean;
}
/// From memory to a block, for the other types.
[[nodiscard]] Kernel loading_kernel(DType type) noexcept;

/// Whether a result of `op` on numbers of a narrow type is one of them without rounding.
[[nodiscard]] bool is_exact(Op op) noexcept;

/// One row of the tables that the files of each type keep.
struct Loop {
  Op op;
  DType a;
  DType result;
  Kernel kernel;
  /// The same for a first or second operand that is one element for all; where there is one.
  Kernel once_first = nullptr;
  Kernel once_second = nullptr;
};
[[nodiscard]] std::span<const Loop> loops_f64() noexcept;
[[nodiscard]] std::span<const Loop> loops_f32() noexcept;
[[nodiscard]] std::span<const Loop> loops_i64() noexcept;
[[nodiscard]] std::span<const Loop> loops_i32() noexcept;
[[nodiscard]] std::span<const Loop> loops_u8() noexcept;
[[nodiscard]] std::span<const Loop> loops_boolean() noexcept;
/// out[i] = second(first(a[i], b), c), with b and c at i or, where their bit says so, one element
/// for all: kernels[b][c]. Two operations of one type, in a loop that costs as much as either.
struct PairLoop {
  Op first, second;
  DType type;
  Kernel kernels[2][2];
};
[[nodiscard]] std::span<const PairLoop> loops_pairs() noexcept;
/// Null if there is none.
[[nodiscard]] const PairLoop* find_pair(Op first, Op second, DType type) noexcept;
/// Casts and random numbers.
[[nodiscard]] std::span<const Loop> loops_cast() noexcept;

}  // namespace forebay::compute::host
