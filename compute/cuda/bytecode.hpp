// Programs as the interpreter kernels run them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forebay/compute/program.hpp"

namespace forebay::cuda {

#include "compute/cuda/bytecode.inl"

/// The bytecode of a program, made once and kept with it. Values that live across instructions lie
/// in slots: leaves in the first ones, then results, which take over the slots of values that have
/// had their last use (linear scan, one pass). A result that only the next instruction reads stays
/// in the accumulator.
struct Bytecode {
  std::vector<std::uint32_t> code;     ///< ends with kFbEnd
  std::vector<std::uint16_t> leaves;   ///< the program's leaves with an element for each
  std::vector<std::uint16_t> singles;  ///< its other leaves
  unsigned slots = 0;                  ///< the most that are in use at once
  unsigned scratch = 0;                ///< the slot for heavy operations, one of them

  /// REQUIRES: interpretable.
  explicit Bytecode(const compute::Program& program);
};

/// Whether the interpreter knows an operation on operands of a type: that of the first one.
[[nodiscard]] bool interpretable(compute::Op op, DType operands) noexcept;
/// Whether it can run a program: what comes in and goes out is f32 or i32, what is between may be
/// boolean too, it knows every operation, and if there is a reduction, it is a sum, or a mean of
/// f32.
[[nodiscard]] bool interpretable(const compute::Program& program) noexcept;

/// The operation that an instruction stands for, its operands' type and its form: "add_f32_s".
[[nodiscard]] const char* code_name(unsigned code) noexcept;

}  // namespace forebay::cuda
