#include "compute/cuda/cuda_executor.hpp"

#include <memory>

#include "compute/cuda/launch_plan.hpp"

namespace forebay::cuda {

using compute::Binding;
using compute::Program;
using compute::Readiness;

Readiness CudaExecutor::run(const Program& program, const Binding& binding, const Stream& stream) {
  device_.make_current();
  Kernel& kernel = kernel_of(program);
  LaunchPlan launch = plan_launch(program, kernel.shape, binding, device_.info().multiprocessors);
  if (launch.blocks == 0) return Readiness::done;
  if (kernel.function == nullptr && !ready(kernel, program)) return Readiness::not_ready;
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

CudaExecutor::Kernel& CudaExecutor::kernel_of(const Program& program) {
  if (Kernel* const known = program.prepared.find<Kernel>(this)) return *known;
  auto kernel = std::make_shared<Kernel>();
  kernel->shape = kernel_shape(program);
  return program.prepared.keep(this, std::move(kernel));
}

bool CudaExecutor::ready(Kernel& kernel, const Program& program) {
  if (wait_ == KernelWait::wait) {
    kernel.function = kernels_.get(generate_kernel(program), kernel_entry(program));
    return true;
  }
  if (kernel.background != nullptr) {
    kernel.function = kernel.background->function();
    if (kernel.function != nullptr) return true;
  } else {
    if (++kernel.runs < device_.config().kernels.compile_after) return false;
    // The program may be forgotten before its kernel is made.
    kernel.background = kernels_.background([copy = program] { return generate_kernel(copy); },
                                            kernel_entry(program));
  }
  kernels_.want(kernel.background);
  return false;
}

}  // namespace forebay::cuda
