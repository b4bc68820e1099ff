// The derivative of every operation that tensors have.
#pragma once

#include <array>
#include <cstdint>

#include "forebay/compute/autograd_hook.hpp"
#include "nn/tape.hpp"

namespace forebay::nn {

/// What the gradient of an input needs to know, as bits.
enum Need : std::uint8_t { kNothing = 0, kFirst = 1, kSecond = 2, kThird = 4, kOutput = 8 };

/// How the gradient of an operation's result becomes those of its inputs.
struct GradientRule {
  /// The gradient of input i from the operation and the gradient of its result, which may have any
  /// shape that broadcasts to the result's. Null: no gradient flows there.
  using Gradient = Tensor (*)(const Operation& operation, Tensor gradient);
  std::array<Gradient, TapeNode::kMaxInputs> gradient{};
  std::array<std::uint8_t, TapeNode::kMaxInputs> needs{};
  /// The gradients have the result's iteration space and are summed to the input's shape.
  bool elementwise = true;
};

/// Null for what has no derivative: comparisons, casts to integers, rounding, random numbers.
[[nodiscard]] const GradientRule* find_rule(compute::Action action, compute::Op op) noexcept;

/// The same for the functions of math.hpp alone.
[[nodiscard]] const GradientRule* math_rule(compute::Op op) noexcept;

/// The gradient of an input of `shape` that was broadcast to `from`; `gradient` broadcasts to
/// `from`.
[[nodiscard]] Tensor sum_to(Tensor gradient, const Dims& from, const Dims& shape);

}  // namespace forebay::nn
