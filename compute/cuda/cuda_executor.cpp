#include "compute/cuda/cuda_executor.hpp"

#include <memory>

#include "compute/cuda/launch_plan.hpp"
#include "runtime/cuda/kernel_cache.hpp"

namespace forebay::cuda {

using compute::Binding;
using compute::Program;
using compute::Readiness;

Readiness CudaExecutor::run(const Program& program, const Binding& binding, const Stream& stream) {
  device_.make_current();
  const Kernel& kernel = kernel_of(program);
  LaunchPlan launch = plan_launch(program, kernel.shape, binding, device_.info().multiprocessors);
  if (launch.blocks == 0) return Readiness::done;
  if (program.reduction && launch.choices.plan.splits > 1) {
    launch.choices.scratch = scratch_.reduction(stream);
  }
  ArgumentBuffer arguments(program, binding, launch.choices);
  void* parameters[] = {arguments.data()};
  const driver::CudaApi& api = device_.api();
  const CUresult result =
      api.cuLaunchKernel(kernel.function, launch.blocks, 1, 1, launch.threads, 1, 1, 0,
                         static_cast<CUstream>(stream.native()), parameters, nullptr);
  if (result != CUDA_SUCCESS) {
    const std::string call =
        std::string("launching ") + kernel_entry(program) + " of program " + program.key();
    throw_driver_error(api, result, call.c_str());
  }
  device_.counters().kernels.compiled_launches.fetch_add(1, std::memory_order_relaxed);
  return Readiness::done;
}

const CudaExecutor::Kernel& CudaExecutor::kernel_of(const Program& program) {
  if (const Kernel* const known = program.prepared.find<Kernel>(this)) return *known;
  const CUfunction function =
      device_.kernels().get(generate_kernel(program), kernel_entry(program));
  return program.prepared.keep(this,
                               std::make_shared<Kernel>(Kernel{kernel_shape(program), function}));
}

}  // namespace forebay::cuda
