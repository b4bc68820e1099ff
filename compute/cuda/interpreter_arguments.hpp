// The one parameter of an interpreter kernel, for one launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "compute/cuda/bytecode.hpp"
#include "compute/cuda/interpreter_plan.hpp"
#include "compute/cuda/kernel_arguments.hpp"

namespace forebay::cuda {

/// Bytes of the parameter that a program takes.
[[nodiscard]] std::size_t interpreter_bytes(const compute::Program& program,
                                            const Bytecode& bytecode) noexcept;

/// An FbArguments of any size; what lies behind its used part is not written.
class InterpreterArguments {
 public:
  /// REQUIRES: interpreter_bytes() <= kFbLargeBytes.
  InterpreterArguments(const compute::Program& program, const Bytecode& bytecode,
                       const compute::Binding& binding, const InterpreterPlan& plan);
  [[nodiscard]] void* data() noexcept { return bytes_.data(); }

 private:
  void put_head(const compute::Program& program, const compute::Binding& binding,
                const InterpreterPlan& plan);
  void put_ahead(const compute::Program& program, const Bytecode& bytecode,
                 const compute::Binding& binding, const ReducePlan& plan);
  void put_reduction(const compute::Program& program, const compute::Binding& binding,
                     const LaunchChoices& choices);
  void put_body(const compute::Program& program, const Bytecode& bytecode,
                const compute::Binding& binding, const InterpreterPlan& plan);

  FbHead head_{};
  alignas(8) std::array<std::byte, kFbLargeBytes> bytes_;
};

}  // namespace forebay::cuda
