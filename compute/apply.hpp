// How the front end builds an elementwise operation: types, devices, shapes, casts, autograd.
#pragma once

#include <array>
#include <span>

#include "compute/promotion.hpp"
#include "compute/tensor_access.hpp"

namespace forebay::compute {

/// Whether `type` holds the number, or takes part in it only by rounding: false for integers beyond
/// a type of integers.
[[nodiscard]] bool holds(DType type, Scalar number);
/// The number itself, or where `type` does not hold it, one that is cast to the nearer end of it.
[[nodiscard]] Scalar within(Scalar number, DType type);

/// `number` as a tensor without dimensions of `type` on the engine's device.
[[nodiscard]] Tensor constant_of(Scalar number, DType type, Engine& engine);

/// `op` on `inputs`, which are cast to `type` and broadcast; the condition of a choice becomes
/// boolean. `inputs` are consumed, unless autograd has to see them. Throws ShapeError for shapes
/// that do not broadcast, different devices, and types without the operation.
[[nodiscard]] Tensor apply(Op op, DType type, std::span<Tensor> inputs);

/// The same with the operands' promoted type; `real`: at least the default real type.
[[nodiscard]] Tensor apply_1(Op op, Tensor a, bool real = false);
[[nodiscard]] Tensor apply_2(Op op, Tensor a, Tensor b, bool real = false);
[[nodiscard]] Tensor apply_2(Op op, Tensor a, Scalar b, bool real = false);
[[nodiscard]] Tensor apply_2(Op op, Scalar a, Tensor b, bool real = false);

}  // namespace forebay::compute
