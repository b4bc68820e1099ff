// Operations element by element, straight from the prelude: what executors are compared with.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "forebay/compute/program.hpp"

namespace forebay::test {

/// The bit pattern of a C++ number, from the lowest bit on.
template <typename T>
[[nodiscard]] std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// `op` on operands of `type`; a choice is not for here.
[[nodiscard]] std::uint64_t evaluate(compute::Op op, DType type, std::uint64_t a,
                                     std::uint64_t b = 0, std::uint64_t c = 0,
                                     std::uint64_t index = 0);
/// One instruction over the values so far.
[[nodiscard]] std::uint64_t evaluate(const compute::Program& program,
                                     const compute::Instruction& instruction,
                                     std::span<const std::uint64_t> values, std::uint64_t index);

[[nodiscard]] std::uint64_t cast_bits(std::uint64_t bits, DType from, DType to);
[[nodiscard]] std::uint64_t identity_bits(compute::Identity identity, DType type);
/// Any type as a double.
[[nodiscard]] double real_of(std::uint64_t bits, DType type);

/// Equal bits, or both NaN.
[[nodiscard]] bool same_bits(DType type, std::uint64_t a, std::uint64_t b);
/// Equal as numbers.
[[nodiscard]] bool equal_bits(DType type, std::uint64_t a, std::uint64_t b);
[[nodiscard]] std::string show(DType type, std::uint64_t bits);

/// Half a unit in the last place of 1, and the least positive number; 0 for integers.
[[nodiscard]] double unit_of(DType type);
[[nodiscard]] double tiny_of(DType type);

}  // namespace forebay::test
