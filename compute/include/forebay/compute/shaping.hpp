// Parts of tensors, tensors of parts, and elements by index. Errors: ShapeError naming the shapes.
// Autograd follows narrow, flip, split, cat and stack, and slice by steps of 1; for the others a
// tracked operand throws Error, unless inside of NoGradGuard.
#pragma once

#include <span>
#include <vector>

#include "forebay/compute/tensor.hpp"

namespace forebay {

/// Elements [start, start + length) along `axis`; a negative start counts from the end. A view.
[[nodiscard]] Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length);
/// Elements start, start + step … before stop along `axis`, by Python's rule: negative bounds count
/// from the end, bounds outside are moved to the end. A step below 0 goes backwards, and then
/// `stop` may be kSliceEnd for "through the first one". A view.
[[nodiscard]] Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop,
                           std::int64_t step = 1);
inline constexpr std::int64_t kSliceEnd = INT64_MIN;
/// The elements along `axis` in reverse. A view.
[[nodiscard]] Tensor flip(const Tensor& x, int axis);
/// Pieces of `length` along `axis`, the last one shorter if it does not divide. Views.
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::int64_t length, int axis = 0);
/// Pieces of these lengths, 0 included, which add up to the extent. Views.
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> lengths,
                                        int axis = 0);

/// One behind the other along `axis`; types are promoted. All other extents are equal. Along
/// another axis than the first the result is a view of memory in which that axis comes first. More
/// than three tensors of which one is tracked are put together by a tree of threes.
[[nodiscard]] Tensor cat(std::span<const Tensor> tensors, int axis = 0);
/// The same along a new axis; all shapes are equal.
[[nodiscard]] Tensor stack(std::span<const Tensor> tensors, int axis = 0);

/// start, start + step … before end: ceil((end - start) / step) elements, each start + i step in
/// f64 (integers: exactly), cast to `type`. The device counts i, in one launch; the rest is an
/// expression. ShapeError for a step of 0 or away from `end`, numbers that are not finite, and more
/// elements than a tensor can have.
[[nodiscard]] Tensor arange(Scalar start, Scalar end, Scalar step, Device& device, DType type);

/// Slices of x along `axis` by `index`, a vector of integers: out[…, j, …] = x[…, index[j], …].
/// Waits for the indices: one outside of x is a ShapeError.
[[nodiscard]] Tensor index_select(const Tensor& x, int axis, const Tensor& index);
/// out[…, j, …] = x[…, index[…, j, …], …] in the shape of `index`, which has the rank of x and no
/// larger extent but along `axis`. Waits for the indices: one outside of x is a ShapeError.
[[nodiscard]] Tensor gather(const Tensor& x, int axis, const Tensor& index);

}  // namespace forebay
