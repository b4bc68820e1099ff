// Losses.
#pragma once

#include "forebay/compute/tensor.hpp"

namespace forebay::nn {

/// The mean of (input - target)² over all elements: a tensor without dimensions. NaN for no
/// element. Throws ShapeError, naming both shapes, if they differ.
[[nodiscard]] Tensor mse_loss(Tensor input, Tensor target);

}  // namespace forebay::nn
