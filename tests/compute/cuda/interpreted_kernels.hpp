// The interpreter kernels in the emulator.
#pragma once

#include "compute/cuda/interpreter_plan.hpp"

namespace forebay::test {

/// One thread of a kernel; `arguments` is the FbArguments that the kernel takes.
void interpret_thread(cuda::InterpreterKernel kernel, const void* arguments);

}  // namespace forebay::test
