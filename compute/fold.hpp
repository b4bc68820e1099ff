// Operations on constants, computed at once with the functions that every executor uses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "forebay/compute/program.hpp"

namespace forebay::compute {

/// One operand: a type and a bit pattern.
struct ConstantValue {
  DType type = DType::f32;
  std::uint32_t bits = 0;
};

/// The bit pattern of the result; none for operations that depend on the element's index.
/// REQUIRES: operands of the types that the operation has (Op).
[[nodiscard]] std::optional<std::uint32_t> fold(Op op, std::span<const ConstantValue> operands);

}  // namespace forebay::compute
