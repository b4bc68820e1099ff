// Programs as the interpreter kernels run them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "forebay/compute/program.hpp"

namespace forebay::cuda {

#include "compute/cuda/bytecode.inl"

/// Whether a value of a type takes two slots.
[[nodiscard]] constexpr bool is_wide(DType type) noexcept { return size_of(type) == 8; }
[[nodiscard]] FbForm form_of(DType type) noexcept;

/// The bytecode of a program, made once and kept with it. Values that live across instructions lie
/// in slots: leaves in the first ones, then results, which take over the slots of values that have
/// had their last use (linear scan, one pass). A result that only the next instruction reads stays
/// in the accumulator.
struct Bytecode {
  struct Placed {
    std::uint16_t leaf;  ///< of the program
    std::uint16_t slot;
    bool read;  ///< from the slot; else it is only in the accumulator
  };
  std::vector<std::uint32_t> code;       ///< ends with kFbEnd
  std::vector<Placed> leaves;            ///< those with an element for each
  std::vector<std::uint16_t> singles;    ///< the program's other leaves
  std::vector<std::uint16_t> scalar_at;  ///< the first word of each scalar
  unsigned scalar_words = 0;
  unsigned slots = 0;  ///< the most that are in use at once
  bool typed = false;  ///< not for the kernels of f32 and i32

  /// Any program. REQUIRES: operands fit, as they do within kLimits.
  explicit Bytecode(const compute::Program& program);
};

/// The operation that an instruction stands for, its operands' type and its form: "add_f32_s".
[[nodiscard]] std::string code_name(unsigned code);
/// Whether a code is followed by a second word.
[[nodiscard]] constexpr bool is_general(unsigned code) noexcept { return code >= kFbGeneral; }

}  // namespace forebay::cuda
