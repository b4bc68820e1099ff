// The row programs that the library has: normalisations.
#pragma once

#include <optional>

#include "forebay/compute/row_program.hpp"

namespace forebay::compute {

// The result is of the input's type, a real one; f16 and bf16 are computed in f32. Scalars are f64
// where the input is, else f32. Each program is made once. Thread safety: any thread.

/// e^(x - max) times 1 over its sum. Input: x. Scalar: 1.
[[nodiscard]] const RowProgram& softmax_rows(DType type);
/// x - max less the logarithm of the sum of its powers. Input: x.
[[nodiscard]] const RowProgram& log_softmax_rows(DType type);
/// (x - mean) / sqrt(variance + eps), times a weight and plus a bias where they have a type.
/// Inputs: x, and those that there are. Scalar: eps.
[[nodiscard]] const RowProgram& layer_norm_rows(DType type, std::optional<DType> weight,
                                                std::optional<DType> bias);

}  // namespace forebay::compute
