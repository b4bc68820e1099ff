#include "compute/cuda/interpreted_executor.hpp"

#include <memory>
#include <string>
#include <utility>

#include "compute/cuda/interpreter_arguments.hpp"

namespace forebay::cuda {

using compute::Binding;
using compute::Program;
using compute::Readiness;

Readiness InterpretedExecutor::run(const Program& program, const Binding& binding,
                                   const Stream& stream) {
  device_.make_current();
  const Bytecode& bytecode = bytecode_of(program);
  InterpreterPlan plan = plan_interpretation(
      program, bytecode, binding, device_.info().multiprocessors, kernels_.shared_limit());
  LaunchPlan& launch = plan.launch;
  if (launch.blocks == 0) return Readiness::done;
  if (program.reduction && launch.choices.plan.splits > 1) {
    launch.choices.partials = scratch_.reduction(stream);
  }
  InterpreterArguments arguments(program, bytecode, binding, plan);
  const CUresult result =
      launcher_.launch({.function = kernels_.function(plan.kernel, plan.length),
                        .blocks = launch.blocks,
                        .threads = launch.threads,
                        .shared_bytes = plan.shared_bytes,
                        .parameter = arguments.data(),
                        .parameter_bytes = parameter_bytes(plan.kernel, plan.length)},
                       stream);
  if (result != CUDA_SUCCESS) {
    const std::string call = std::string("launching ") +
                             interpreter_entry(plan.kernel, plan.length) + " for program " +
                             program.key();
    throw_driver_error(device_.api(), result, call.c_str());
  }
  count(device_.counters().kernels.interpreted_launches);
  return Readiness::done;
}

const Bytecode& InterpretedExecutor::bytecode_of(const Program& program) {
  if (const Bytecode* const known = program.prepared.find<Bytecode>(this)) return *known;
  return program.prepared.keep(this, std::make_shared<Bytecode>(program));
}

}  // namespace forebay::cuda
