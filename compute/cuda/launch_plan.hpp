// The grid of one run of a program, and the choices its kernel leaves to the launch.
#pragma once

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/kernel_arguments.hpp"

namespace forebay::cuda {

struct LaunchPlan {
  unsigned blocks = 0;  ///< 0: there is nothing to do
  unsigned threads = 0;
  LaunchChoices choices;  ///< but for the scratch memory
};

/// `multiprocessors` only sizes the blocks of small maps; a reduction's tree does not see it.
/// Throws Error for more blocks than a grid has.
[[nodiscard]] LaunchPlan plan_launch(const compute::Program& program, const KernelShape& shape,
                                     const compute::Binding& binding, int multiprocessors);

}  // namespace forebay::cuda
