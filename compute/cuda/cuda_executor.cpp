#include "compute/cuda/cuda_executor.hpp"

#include "compute/cuda/launch_plan.hpp"
#include "runtime/cuda/kernel_cache.hpp"

namespace forebay::cuda {

using compute::Binding;
using compute::Program;
using compute::Readiness;

Readiness CudaExecutor::run(const Program& program, const Binding& binding, const Stream& stream) {
  device_.make_current();
  const Kernel& kernel = kernel_for(program);
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

const CudaExecutor::Kernel& CudaExecutor::kernel_for(const Program& program) {
  const auto found = kernels_.find(&program);
  if (found != kernels_.end() && found->second.program == program) return found->second;
  const std::string source = generate_kernel(program);
  const CUfunction function = device_.kernels().get(source, kernel_entry(program));
  if (found == kernels_.end() && kernels_.size() == kMaxKernels) kernels_.clear();
  return kernels_.insert_or_assign(&program, Kernel{program, kernel_shape(program), function})
      .first->second;
}

}  // namespace forebay::cuda
