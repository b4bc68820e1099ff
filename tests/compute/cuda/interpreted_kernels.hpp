// The interpreter kernels in the emulator.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/cuda/interpreter_plan.hpp"

namespace forebay::test {

/// The bytes of a kernel's parameter as it gets them; what lies behind them means nothing.
[[nodiscard]] std::vector<std::uint64_t> parameter_of(const cuda::InterpreterPlan& plan,
                                                      const void* arguments);
/// One thread of a kernel; `arguments` is the FbArguments that the kernel takes.
void interpret_thread(cuda::InterpreterKernel kernel, const void* arguments);

}  // namespace forebay::test
