// Operations on constants, computed at once with the functions that every executor uses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "forebay/compute/program.hpp"

namespace forebay::compute {

/// One operand: a type and a bit pattern, from the lowest bit on.
struct ConstantValue {
  DType type = DType::f32;
  std::uint64_t bits = 0;
};

/// The bit pattern of the result; none for operations that depend on the element's index.
/// REQUIRES: operands of the types that the operation has (Op).
[[nodiscard]] std::optional<std::uint64_t> fold(Op op, std::span<const ConstantValue> operands);

/// The bit pattern of `value` cast to `type`.
[[nodiscard]] std::uint64_t fold_cast(ConstantValue value, DType type);

}  // namespace forebay::compute
