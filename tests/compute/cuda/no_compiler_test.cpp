// Kernels that cannot be had. On a machine without NVRTC programs run all the same, interpreted,
// and one line says why; what cannot be loaded now is loaded later.
#include <algorithm>

#include "compute/cuda/cuda_executor.hpp"
#include "compute/cuda/interpreted_executor.hpp"
#include "forebay/compute/tensor.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/cuda/fake_image.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/forked.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Program;
using compute::Readiness;

namespace {

/// No NVRTC is for a driver that old.
constexpr int kAncientDriver = 11080;

/// The executors of a device that has no compiler.
struct Uncompiled {
  FakeCuda cuda{test::fake_config(), true};
  cuda::StreamScratch scratch{*cuda.device};
  std::shared_ptr<cuda::KernelCache> kernels = std::make_shared<cuda::KernelCache>(
      *cuda.device,
      std::make_unique<cuda::Compiler>(kAncientDriver, cuda::CompileOptions{"sm_90", false}),
      nullptr);
  cuda::CudaExecutor background{*cuda.device, scratch, *kernels, cuda::KernelWait::background};
  cuda::InterpretedExecutor interpreter{*cuda.device, scratch, kFakeImage};
  cuda::CudaExecutor waiting{*cuda.device, scratch, *kernels, cuda::KernelWait::wait};
  KernelCounters& counters = cuda.device->counters().kernels;

  Readiness run(compute::Executor& executor, const Program& program) {
    alignas(16) static float data[4] = {};
    return executor.run(program,
                        compute::Binding{.extents = {1000},
                                         .leaves = {data},
                                         .strides = {{}},
                                         .scalars = {},
                                         .outputs = {},
                                         .reduction = data},
                        cuda.stream);
  }
};

int run_without_compiler() {
  Uncompiled setting;
  std::vector<Program> programs;
  for (const DType type : {DType::f32, DType::i32, DType::u8}) {
    programs.push_back(sum_program({type, compute::Access::linear}, 1, 0b1));
  }
  for (int round = 0; round < 4; ++round) {
    for (const Program& program : programs) {
      if (setting.run(setting.background, program) != Readiness::not_ready) return 1;
      if (setting.run(setting.interpreter, program) != Readiness::done) return 2;
    }
    if (!setting.kernels->settle(std::chrono::milliseconds(30'000))) return 3;
  }
  if (setting.cuda.driver.launches() != 12 || setting.counters.interpreted_launches != 12) return 4;
  if (setting.counters.compiled != 0 || setting.counters.failed != 3) return 5;
  return 0;
}

}  // namespace

TEST_CASE("without a compiler programs stay interpreted, with one warning that says why") {
  const Ended ended = in_child(run_without_compiler);
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  CHECK(ended.err.find("warning: a program stays interpreted") != std::string::npos);
  CHECK(ended.err.find("NVRTC, the compiler for kernels, was not found") != std::string::npos);
}

TEST_CASE("without a compiler who waits for a kernel hears why, and nothing was launched") {
  Uncompiled setting;
  const Program sum = sum_program({DType::f32, compute::Access::linear}, 1, 0b1);
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(setting.run(setting.waiting, sum), DriverError);
  }
  CHECK(setting.cuda.driver.launches() == 0);
}

TEST_CASE("a kernel that is not loaded in the middle of a graph of tensors is at the next try") {
  Config config = test::fake_config();
  config.fusion.tier = FusionTier::compile;
  FakeCuda cuda(config, true);
  const Tensor x = from_host<float>(std::vector<float>{1, 2, 3}, {3}, *cuda.device);
  const std::uint64_t before = cuda.live_blocks();
  {
    const Tensor part = (x + 1.0F).eval();
    const Tensor held = part * 2.0F;
    const Tensor result = held - part;
    const std::uint64_t computed = cuda.live_blocks();
    for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncLoad"}) {
      INFO(call);
      cuda.driver.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
      CHECK_THROWS_AS(result.eval(), DriverError);
      CHECK(cuda.live_blocks() == computed);
      CHECK(cuda.driver.launches() == 1);
    }
    result.eval();
    CHECK(cuda.driver.launches() == 2);
    held.eval();  // was stored by the same launch
    CHECK(cuda.driver.launches() == 2);
    CHECK(cuda.device->counters().kernels.loaded == 2);
  }
  CHECK(cuda.live_blocks() == before);
}
