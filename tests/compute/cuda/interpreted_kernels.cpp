// The interpreter kernels, compiled as C++ for the emulator.
#include "tests/compute/cuda/interpreted_kernels.hpp"

#include <cstring>
#include <stdexcept>

#include "compute/cuda/tile_plan.hpp"
#include "forebay/compute/op.hpp"
#include "tests/compute/cuda/emulator.hpp"

namespace forebay::test {
namespace interpreter {

#include "compute/prelude.inl"
//
#include "compute/cuda/bytecode.inl"
//
#include "compute/cuda/interpreter.inl"

static_assert(unsigned{kFbPatch} == cuda::kPatch);

}  // namespace interpreter

std::vector<std::uint64_t> parameter_of(const cuda::InterpreterPlan& plan, const void* arguments) {
  if (!exists(plan.kernel, plan.length)) throw std::logic_error("a plan for a kernel that is none");
  std::vector<std::uint64_t> parameter(cuda::kFbLargeBytes / 8, 0xA5A5A5A5A5A5A5A5U);
  std::memcpy(parameter.data(), arguments, cuda::parameter_bytes(plan.kernel, plan.length));
  return parameter;
}

void interpret_thread(cuda::InterpreterKernel kernel, const void* arguments) {
  using interpreter::FbArguments;
  const auto& small = *static_cast<const FbArguments<interpreter::kFbSmallBytes>*>(arguments);
  const auto& large = *static_cast<const FbArguments<interpreter::kFbLargeBytes>*>(arguments);
  switch (kernel) {
    case cuda::InterpreterKernel::map:
      return interpreter::fb_map<interpreter::kFbMapElements, false>(small);
    case cuda::InterpreterKernel::reduce:
      return interpreter::fb_reduce<interpreter::kFbElements>(small);
    case cuda::InterpreterKernel::reduce_steps:
      return interpreter::fb_reduce<interpreter::kFbStepsElements>(small);
    case cuda::InterpreterKernel::map_typed:
      return interpreter::fb_map<interpreter::kFbMapElements, true>(small);
    case cuda::InterpreterKernel::reduce_typed:
      return interpreter::fb_reduce_typed<interpreter::kFbElements>(small);
    case cuda::InterpreterKernel::map_tiled:
      return interpreter::fb_map_tiled(small);
    case cuda::InterpreterKernel::map_large:
      return interpreter::fb_map<interpreter::kFbLargeElements, true>(large);
    case cuda::InterpreterKernel::reduce_large:
      return interpreter::fb_reduce_typed<interpreter::kFbLargeElements>(large);
  }
}

}  // namespace forebay::test
