// A generated kernel, run by the emulator as the executor would launch it.
#pragma once

#include <string>

#include "compute/cuda/launch_plan.hpp"
#include "tests/compute/cuda/emulated_case.hpp"
#include "tests/compute/cuda/emulator.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

namespace forebay::test {

/// The kernel `name` of kernel_writer, or that by tiles if the data asks for it.
inline cuda::LaunchPlan emulate_generated(const std::string& name, EmulatedCase& run) {
  const compute::Program& program = run.program();
  const bool tiled = cuda::plan_staged(program, run.binding).blocks > 0;
  const EmulatedKernel* const kernel = emulated_kernel((name + (tiled ? "_tiled" : "")).c_str());
  REQUIRE(kernel != nullptr);
  cuda::LaunchPlan launch = cuda::plan_launch(
      program, cuda::kernel_shape(program, tiled ? staged_sample(program) : 0), run.binding, 132);
  launch.choices.partials = run.scratch(launch.choices.plan);
  cuda::ArgumentBuffer arguments(program, run.binding, launch.choices);
  REQUIRE(arguments.size() == kernel->argument_bytes);
  if (launch.blocks != 0) {
    emulate(
        launch.blocks, launch.threads, [&] { kernel->thread(arguments.data()); },
        launch.choices.plan.waiting());
  }
  return launch;
}

}  // namespace forebay::test
