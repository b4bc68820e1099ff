#include "compute/cuda/matmul_runner.hpp"

#include "tests/compute/cuda/fake_cublaslt.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

struct MatmulSetting {
  explicit MatmulSetting(std::uint32_t max_plans = 3) : cuda(config(max_plans)) {}
  static Config config(std::uint32_t max_plans) {
    Config config = test::fake_config();
    config.matmul.max_plans = max_plans;
    config.matmul.workspace_bytes = 1 << 16;
    return config;
  }
  void run(std::int64_t m, std::size_t offset = 0) {
    runner.run({.m = m,
                .n = 8,
                .k = 8,
                .a = data + offset,
                .a_stride = 8,
                .b = data + 1000,
                .b_stride = 8,
                .c = data + 2000 + offset},
               cuda.stream);
  }

  FakeCublasLt blas;
  FakeCuda cuda;
  cuda::StreamScratch scratch{*cuda.device};
  cuda::MatmulRunner runner{*cuda.device, scratch, blas.api()};
  float* data = cuda.allocate<float>(4000);
};

}  // namespace

TEST_CASE("a shape is planned once, and the least recently used plan goes first") {
  MatmulSetting setting;
  for (const std::int64_t m : {1, 2, 3, 1, 2, 3}) setting.run(m);
  CHECK(setting.blas.heuristics == 3);
  CHECK(setting.cuda.device->counters().fusion.plans == 3);
  setting.run(1);
  setting.run(4);  // 2 goes
  CHECK(setting.blas.heuristics == 4);
  setting.run(1);
  setting.run(3);
  CHECK(setting.blas.heuristics == 4);
  setting.run(2);
  CHECK(setting.blas.heuristics == 5);
  CHECK(setting.cuda.device->counters().fusion.plans == 3);
}

TEST_CASE("ten thousand shapes leave as many plans as are allowed") {
  MatmulSetting setting(8);
  setting.run(1);
  const int alive = setting.blas.alive;
  for (std::int64_t m = 1; m <= 10'000; ++m) setting.run(m);
  CHECK(setting.blas.alive == alive + 7 * (alive - 1));
  CHECK(setting.cuda.device->counters().fusion.plans == 8);
}

TEST_CASE("a warm product allocates nothing; the workspace is the stream's") {
  MatmulSetting setting;
  setting.blas.algorithms = {{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 100}};
  setting.run(1);
  const std::uint64_t live = setting.cuda.live_blocks();
  for (int i = 0; i < 5; ++i) setting.run(1);
  CHECK(setting.cuda.live_blocks() == live);
  CHECK(setting.blas.products.front().workspace != nullptr);
  CHECK(setting.blas.products.front().workspace == setting.blas.products.back().workspace);
}

TEST_CASE("operands off the alignment are copied, so that one algorithm serves every address") {
  MatmulSetting setting;
  for (int i = 0; i < 64; ++i) setting.data[1 + i] = static_cast<float>(i);
  setting.run(8);
  const std::uint64_t live = setting.cuda.live_blocks();
  setting.run(8, 1);
  CHECK(setting.blas.heuristics == 1);
  const FakeProduct& product = setting.blas.products.back();
  CHECK(reinterpret_cast<std::uintptr_t>(product.second_data) % 16 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(product.result_data) % 16 == 0);
  CHECK(product.second_data != setting.data + 1);
  CHECK(product.second_data[63] == 63.0F);
  CHECK(product.first_data == setting.data + 1000);
  CHECK(setting.cuda.live_blocks() == live);
}

TEST_CASE("everything of the library is given back at the end") {
  FakeCublasLt blas;
  FakeCuda cuda;
  {
    cuda::StreamScratch scratch(*cuda.device);
    cuda::MatmulRunner runner(*cuda.device, scratch, blas.api());
    float* const data = cuda.allocate<float>(300);
    runner.run({.m = 8,
                .n = 8,
                .k = 8,
                .a = data,
                .a_stride = 8,
                .b = data + 64,
                .b_stride = 8,
                .c = data + 128},
               cuda.stream);
    CHECK(blas.alive > 0);
  }
  CHECK(blas.alive == 0);
  CHECK(cuda.device->counters().fusion.plans == 0);
}
