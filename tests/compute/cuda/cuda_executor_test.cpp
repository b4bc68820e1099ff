#include "compute/cuda/cuda_executor.hpp"

#include "compute/row_programs.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Binding;
using compute::Program;

namespace {

struct ExecutorSetting {
  FakeCuda cuda{test::fake_config(), true};
  cuda::StreamScratch scratch{*cuda.device};
  cuda::CudaExecutor executor{*cuda.device, scratch, cuda.device->kernels(),
                              cuda::KernelWait::wait};
  Program sum = sum_program({DType::f32, compute::Access::linear}, 1, 0b1);

  void run(std::int64_t count, const Stream& stream) {
    float data[4] = {};
    const auto ready = executor.run(sum,
                                    Binding{.extents = {count},
                                            .leaves = {data},
                                            .strides = {{}},
                                            .scalars = {},
                                            .outputs = {},
                                            .reduction = data},
                                    stream);
    CHECK(ready == compute::Readiness::done);
  }
};

}  // namespace

TEST_CASE("a program is compiled once, launched once a run, and takes scratch only for a split") {
  ExecutorSetting setting;
  const KernelCounters& counters = setting.cuda.device->counters().kernels;
  setting.run(1000, setting.cuda.stream);
  CHECK(counters.compiled == 1);
  CHECK(setting.scratch.streams() == 0);
  setting.run(1'000'000, setting.cuda.stream);
  CHECK(setting.scratch.streams() == 1);
  const std::uint64_t hits = counters.memory_hits;
  for (int i = 0; i < 10; ++i) setting.run(1'000'000, setting.cuda.stream);
  CHECK(counters.compiled == 1);
  CHECK(counters.memory_hits == hits);  // the kernel lies with its program
  CHECK(counters.compiled_launches == 12);
  CHECK(setting.cuda.driver.launches() == 12);
  CHECK(setting.executor.name() == "cuda");
  CHECK(counters.compile_wait_us == counters.compile_us);  // somebody waited
}

TEST_CASE("a program of the same structure elsewhere finds the compiled kernel") {
  ExecutorSetting setting;
  setting.run(1000, setting.cuda.stream);
  const Program copy = setting.sum;
  setting.sum = Program(copy);
  Program other = copy;
  float data[4] = {};
  setting.executor.run(other,
                       Binding{.extents = {4},
                               .leaves = {data},
                               .strides = {{}},
                               .scalars = {},
                               .outputs = {},
                               .reduction = data},
                       setting.cuda.stream);
  CHECK(setting.cuda.device->counters().kernels.compiled == 1);
  CHECK(setting.cuda.device->counters().kernels.memory_hits == 1);
}

TEST_CASE("a program has a kernel for its space's order, and one for each set of leaves by tiles") {
  ExecutorSetting setting;
  const KernelCounters& counters = setting.cuda.device->counters().kernels;
  Program sum;
  sum.leaves.assign(2, {DType::f32, compute::Access::strided});
  sum.rank = 2;
  sum.code = {{compute::Op::add, DType::f32, 0, 1, 0}};
  sum.outputs = {{2}};
  float data[4] = {};
  const auto run = [&](const Dims& a, const Dims& b) {
    const auto ready = setting.executor.run(sum,
                                            Binding{.extents = {64, 64},
                                                    .leaves = {data, data},
                                                    .strides = {a, b},
                                                    .scalars = {},
                                                    .outputs = {data},
                                                    .reduction = nullptr},
                                            setting.cuda.stream);
    CHECK(ready == compute::Readiness::done);
  };
  const Dims straight{100, 1};
  const Dims across{1, 64};
  run(straight, straight);
  CHECK(counters.compiled == 1);
  run(straight, across);
  CHECK(counters.compiled == 2);
  run(across, straight);
  CHECK(counters.compiled == 3);
  run(across, across);
  CHECK(counters.compiled == 4);
  const std::uint64_t hits = counters.memory_hits;
  run(straight, straight);
  run(across, straight);
  CHECK(counters.compiled == 4);
  CHECK(counters.memory_hits == hits);
  CHECK(setting.cuda.driver.launches() == 6);
}

TEST_CASE("a failed launch names the kernel and the program") {
  ExecutorSetting setting;
  setting.run(1000, setting.cuda.stream);
  setting.cuda.driver.fail("cuGraphLaunch", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  setting.cuda.driver.fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  std::string what;
  try {
    setting.run(1000, setting.cuda.stream);
  } catch (const DriverError& error) {
    what = error.what();
    CHECK(error.code() == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  }
  CHECK(what.find("forebay_reduce") != std::string::npos);
  CHECK(what.find(setting.sum.key()) != std::string::npos);
  CHECK(setting.cuda.device->counters().kernels.compiled_launches == 1);
}

TEST_CASE("a row program is one launch, by a kernel for the length of its rows") {
  ExecutorSetting setting;
  const KernelCounters& counters = setting.cuda.device->counters().kernels;
  float data[4] = {};
  const auto run = [&](std::int64_t rows, std::int64_t length) {
    return setting.executor.run_rows(
        compute::softmax_rows(DType::f32),
        {.rows = rows, .length = length, .inputs = {data}, .scalars = {0}, .output = data},
        setting.cuda.stream);
  };
  CHECK(run(100, 300) == compute::Readiness::done);
  CHECK(run(7, 1024) == compute::Readiness::done);
  CHECK(counters.compiled == 1);
  CHECK(run(100, 4096) == compute::Readiness::done);
  CHECK(counters.compiled == 2);
  CHECK(counters.compiled_launches == 3);
  // Rows that are cut up for several blocks are for the stages.
  CHECK(run(2, 100'000) == compute::Readiness::not_ready);
  CHECK(counters.compiled_launches == 3);
  setting.cuda.driver.fail("cuGraphLaunch", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  setting.cuda.driver.fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  std::string what;
  try {
    (void)run(100, 300);
  } catch (const DriverError& error) {
    what = error.what();
  }
  CHECK(what.find("forebay_rows of softmax") != std::string::npos);
}
