// The loops of the host: one function for each operation and type, over contiguous elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forebay/compute/program.hpp"

namespace forebay::compute::host {

/// Elements of every type have four bytes; what only moves them works on words.
using Word = std::uint32_t;

/// out[i] = op(a[i], b[i], c[i]) for i < n; `index` is the position of element 0 in its tensor.
/// `out` may be the same as an operand. Elements are aligned to their size at least.
using Kernel = void (*)(const void* a, const void* b, const void* c, void* out, std::size_t n,
                        std::uint64_t index);

/// The loop of `op` for a first operand of type `a` and a result of type `result`; null if there is
/// no such operation.
[[nodiscard]] Kernel find_kernel(Op op, DType a, DType result) noexcept;

/// The sum of n <= 1024 elements: fewer than 16 in order, others in 64 lanes that are folded by
/// halves. The order depends on n alone. Integers wrap.
[[nodiscard]] float sum(const float* x, std::size_t n) noexcept;
[[nodiscard]] std::uint32_t sum(const std::uint32_t* x, std::size_t n) noexcept;
/// sums[i] += x[i].
void accumulate(double* sums, const float* x, std::size_t n) noexcept;
void accumulate(std::uint32_t* sums, const std::uint32_t* x, std::size_t n) noexcept;

}  // namespace forebay::compute::host
