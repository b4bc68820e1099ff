// Normalisations. Along the last dimension, without autograd, a GPU reads its input once and writes
// the result, as soon as it has the kernel for that; else they are put together from reductions and
// elementwise operations, a few launches each, with the same bits.
#pragma once

#include <optional>

#include "forebay/compute/tensor.hpp"

namespace forebay {

/// e^x over its sum along `axis`, without overflow. Integers become f32; f16 and bf16 are computed
/// in f32 and rounded at the end. ShapeError for an axis that is not there; without dimensions 0
/// and -1 are.
[[nodiscard]] Tensor softmax(const Tensor& x, int axis = -1);
/// The logarithm of that, exact where the softmax vanishes.
[[nodiscard]] Tensor log_softmax(const Tensor& x, int axis = -1);
/// (x - mean) / sqrt(var + eps) over the last `dimensions` dimensions, then times `weight` plus
/// `bias`, where given; they broadcast to x (ShapeError). Reals, computed as in softmax.
[[nodiscard]] Tensor layer_norm(const Tensor& x, int dimensions = 1,
                                const std::optional<Tensor>& weight = std::nullopt,
                                const std::optional<Tensor>& bias = std::nullopt,
                                double eps = 1e-5);

}  // namespace forebay
