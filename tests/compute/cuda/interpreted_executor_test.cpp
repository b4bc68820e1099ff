#include "compute/cuda/interpreted_executor.hpp"

#include <string>

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/cuda/fake_image.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Binding;
using compute::Program;
using compute::Readiness;

namespace {

struct InterpretedSetting {
  FakeCuda cuda{test::fake_config(), true};
  cuda::StreamScratch scratch{*cuda.device};
  cuda::InterpretedExecutor executor{*cuda.device, scratch, kFakeImage};
  KernelCounters& counters = cuda.device->counters().kernels;
  Program sum = sum_program({DType::f32, compute::Access::linear}, 1, 0b1);

  Readiness run(const Program& program, std::int64_t count) {
    alignas(16) static float data[4] = {};
    Binding binding{.extents = {count}, .leaves = {}, .strides = {}, .scalars = {}, .outputs = {}};
    binding.leaves.assign(program.leaves.size(), data);
    binding.strides.assign(program.leaves.size(), {});
    binding.scalars.assign(program.scalars.size(), 0);
    binding.reduction = data;
    return executor.run(program, binding, cuda.stream);
  }
};

}  // namespace

TEST_CASE("a program runs at once: nothing is compiled, and a warm run is one launch") {
  InterpretedSetting setting;
  CHECK(setting.executor.name() == "cuda-interpreter");
  CHECK(setting.run(setting.sum, 1'000'000) == Readiness::done);
  CHECK(setting.scratch.streams() == 1);
  const std::uint64_t calls = setting.cuda.device->driver_calls();
  const std::uint64_t blocks = setting.cuda.live_blocks();
  for (int i = 0; i < 100; ++i) CHECK(setting.run(setting.sum, 1'000'000) == Readiness::done);
  CHECK(setting.cuda.driver.launches() == 101);
  CHECK(setting.counters.interpreted_launches == 101);
  CHECK(setting.counters.compiled_launches == 0);
  CHECK(setting.counters.compiled == 0);
  CHECK(setting.cuda.live_blocks() == blocks);
  // Make current (get, at most set), ask whether it is captured, exchange the capture mode and
  // back, exchange the parameter, launch.
  CHECK(setting.cuda.device->driver_calls() - calls <= 700);
}

TEST_CASE("a program of nothing is done; every other one is launched, however much it holds") {
  InterpretedSetting setting;
  Program rows = sum_program({DType::f32, compute::Access::linear}, 1, 0b1);
  rows.reduction.reset();
  rows.reduced_dims = 0;
  rows.outputs = {};
  CHECK(setting.run(rows, 0) == Readiness::done);
  CHECK(setting.cuda.driver.launches() == 0);
  // Every product is alive until the sum of them all.
  Program wide = sum_program({DType::f64, compute::Access::linear}, 1, 0b1);
  constexpr compute::Value kProducts = 108;
  wide.scalars.assign(kProducts, DType::f64);
  for (compute::Value k = 0; k < kProducts; ++k) {
    wide.code.push_back({compute::Op::mul, DType::f64, 0, static_cast<compute::Value>(1 + k), 0});
  }
  const compute::Value next = 1 + kProducts;
  compute::Value last = next;
  for (compute::Value k = 1; k < kProducts; ++k) {
    wide.code.push_back(
        {compute::Op::add, DType::f64, last, static_cast<compute::Value>(next + k), 0});
    last = static_cast<compute::Value>(next + kProducts - 1 + k);
  }
  wide.reduction->value = last;
  CHECK(setting.run(wide, 1'000'000) == Readiness::done);
  CHECK(setting.cuda.driver.launches() == 1);
  CHECK(setting.counters.interpreted_launches == 1);
}

TEST_CASE("a program's bytecode is made once") {
  InterpretedSetting setting;
  const Program real = sum_program({DType::f64, compute::Access::linear}, 1, 0b1);
  CHECK(setting.run(real, 1000) == Readiness::done);
  const void* const kept = real.prepared.find<void>(&setting.executor);
  CHECK(kept != nullptr);
  CHECK(setting.run(real, 1000) == Readiness::done);
  CHECK(real.prepared.find<void>(&setting.executor) == kept);
}

TEST_CASE("a failed launch names the interpreter's kernel and the program") {
  InterpretedSetting setting;
  setting.cuda.driver.fail("cuGraphLaunch", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  setting.cuda.driver.fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  std::string what;
  try {
    (void)setting.run(setting.sum, 1000);
  } catch (const DriverError& error) {
    what = error.what();
  }
  CHECK(what.find("forebay_interpret_reduce") != std::string::npos);
  CHECK(what.find(setting.sum.key()) != std::string::npos);
  CHECK(setting.counters.interpreted_launches == 0);
}
