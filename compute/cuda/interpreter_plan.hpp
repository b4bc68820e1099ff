// How a program is interpreted: which kernel, in which blocks, with how much shared memory.
#pragma once

#include <cstddef>

#include "compute/cuda/bytecode.hpp"
#include "compute/cuda/launch_plan.hpp"

namespace forebay::cuda {

/// The kernels of the interpreter. The large ones take any program and one element at a time.
enum class InterpreterKernel : unsigned { map, reduce, map_large, reduce_large };
inline constexpr unsigned kInterpreterKernels = 4;

/// Shared memory of a block that the reducing kernels declare themselves, rounded up.
inline constexpr std::size_t kInterpreterFoldBytes = 4096;

struct InterpreterPlan {
  LaunchPlan launch;  ///< the tree of a reduction is that of the generated kernel
  InterpreterKernel kernel = InterpreterKernel::map;
  std::size_t shared_bytes = 0;
  bool possible = true;  ///< false: more values live at once than a block's shared memory holds
};

/// `shared_limit`: bytes that a block may have on the device, `multiprocessors` as in plan_launch.
[[nodiscard]] InterpreterPlan plan_interpretation(const compute::Program& program,
                                                  const Bytecode& bytecode,
                                                  const compute::Binding& binding,
                                                  int multiprocessors, std::size_t shared_limit);

}  // namespace forebay::cuda
