#include "compute/cuda/cuda_executor.hpp"

#include <memory>

#include "compute/cuda/launch_plan.hpp"
#include "compute/cuda/row_kernel.hpp"
#include "compute/cuda/row_plan.hpp"

namespace forebay::cuda {

using compute::Binding;
using compute::Program;
using compute::Readiness;
using compute::RowBinding;
using compute::RowProgram;

Readiness CudaExecutor::run(const Program& program, const Binding& binding, const Stream& stream) {
  const TilePlan tiles = plan_staged(program, binding);
  const std::uint32_t staged = tiles.blocks > 0 ? tiles.leaves : 0;
  Kernel& kernel = kernel_of(program, staged);
  // The program may be forgotten before its kernel is made.
  const auto source = [&] {
    return [copy = program, staged] { return generate_kernel(copy, staged); };
  };
  if (kernel.function == nullptr && !ready(kernel, source, kernel_entry(program))) {
    return Readiness::not_ready;
  }
  LaunchPlan launch = plan_launch(program, kernel.shape, binding, device_.info().multiprocessors);
  if (launch.blocks == 0) return Readiness::done;
  device_.make_current();
  if (program.reduction && launch.choices.plan.splits > 1) {
    launch.choices.partials = scratch_.reduction(stream);
  }
  ArgumentBuffer arguments(program, binding, launch.choices);
  enqueue({.function = kernel.function,
           .blocks = launch.blocks,
           .threads = launch.threads,
           .parameter = arguments.data(),
           .parameter_bytes = arguments.size()},
          stream,
          [&] { return std::string(kernel_entry(program)) + " of program " + program.key(); });
  return Readiness::done;
}

Readiness CudaExecutor::run_rows(const RowProgram& program, const RowBinding& binding,
                                 const Stream& stream) {
  device_.make_current();
  const std::optional<RowLaunch> launch = plan_rows(program, binding);
  if (!launch) return Readiness::not_ready;
  Kernel& kernel = rows_[{&program, launch->steps}];
  const auto source = [&] {
    return [&program, steps = launch->steps] { return generate_row_kernel(program, steps); };
  };
  if (kernel.function == nullptr && !ready(kernel, source, kRowEntry)) return Readiness::not_ready;
  RowArguments arguments(program, binding, *launch);
  enqueue({.function = kernel.function,
           .blocks = launch->blocks,
           .threads = launch->threads,
           .parameter = arguments.data(),
           .parameter_bytes = arguments.size()},
          stream, [&] { return std::string(kRowEntry) + " of " + program.name; });
  return Readiness::done;
}

CudaExecutor::Kernel& CudaExecutor::kernel_of(const Program& program, std::uint32_t staged) {
  Kernels* kernels = program.prepared.find<Kernels>(this);
  if (kernels == nullptr) {
    kernels = &program.prepared.keep(this, std::make_shared<Kernels>());
    kernels->plain.shape = kernel_shape(program);
  }
  if (staged == 0) return kernels->plain;
  const auto [known, is_new] = kernels->tiled.try_emplace(staged);
  if (is_new) known->second.shape = kernel_shape(program, staged);
  return known->second;
}

template <typename Source>
bool CudaExecutor::ready(Kernel& kernel, Source source, const char* entry) {
  if (wait_ == KernelWait::wait) {
    kernel.function = kernels_.get(source()(), entry);
    return true;
  }
  if (kernel.background == nullptr) kernel.background = kernels_.background(source(), entry);
  kernel.function = kernel.background->function();
  if (kernel.function != nullptr) return true;
  if (kernel.runs < device_.config().kernels.compile_after) ++kernel.runs;
  if (kernel.runs == device_.config().kernels.compile_after) kernels_.want(kernel.background);
  return false;
}

template <typename What>
void CudaExecutor::enqueue(const KernelLaunch& launch, const Stream& stream, What what) {
  const CUresult result = launcher_.launch(launch, stream);
  if (result != CUDA_SUCCESS) {
    throw_driver_error(device_.api(), result, ("launching " + what()).c_str());
  }
  count(device_.counters().kernels.compiled_launches);
}

}  // namespace forebay::cuda
