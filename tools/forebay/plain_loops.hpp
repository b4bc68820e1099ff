// The cases of `forebay bench compute` as one thread's plain loops: what a programmer writes first,
// and a compiler makes of it. Nothing is fused by hand that the case does not fuse.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/forebay/compute_cases.hpp"

namespace forebay::tools {

using PlainLoop = void (*)(const ComputeCase& one, const std::vector<const void*>& leaves,
                           void* out);

/// out[i] = in[i], over rows of any pitch, and in[i] + the case's scalar.
void plain_copy(const ComputeCase& one, const std::vector<const void*>& leaves, void* out);
void plain_add_scalar(const ComputeCase& one, const std::vector<const void*>& leaves, void* out);
/// out[i] = a[i] + b[i], of T; `b` may be one row for all.
template <typename T>
void plain_add(const ComputeCase& one, const std::vector<const void*>& leaves, void* out);
/// out[i] = a[i] + s b[i].
void plain_triad(const ComputeCase& one, const std::vector<const void*>& leaves, void* out);
/// The loop of a chain of 1, 3, 10 or 40 operations.
[[nodiscard]] PlainLoop plain_chain(unsigned length);
/// Sums of rows of products (of two leaves) or of elements, in f64; one row for a sum of all.
void plain_row_sum(const ComputeCase& one, const std::vector<const void*>& leaves, void* out);
/// Sums of columns, in f32, row by row.
void plain_column_sum(const ComputeCase& one, const std::vector<const void*>& leaves, void* out);

/// STREAM's triad as its authors wrote it, over f64: the bandwidth that other rows are measured by.
void stream_triad(double* a, const double* b, const double* c, double scalar, std::size_t n);

}  // namespace forebay::tools
