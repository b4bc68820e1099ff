#include "compute/cuda/cuda_backend.hpp"

#include <array>
#include <numeric>

#include "compute/cuda/kernel_arguments.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/compute/tensor.hpp"
#include "forebay/pool/error.hpp"
#include "runtime/runtime_impl.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::CustomKernel;

namespace {

constexpr CustomKernel kKernel{.name = "fill",
                               .cuda_source = R"(
extern "C" __global__ void fill(float* data, float x) {
  data[threadIdx.x] = fb_exp(x);
}
)",
                               .block = 64,
                               .host = nullptr};

}  // namespace

TEST_CASE("the backend says what its kernels hold, and its last executor is always ready") {
  Config config = test::fake_config();
  config.fusion.tier = FusionTier::compile;
  FakeCuda cuda(config);
  const auto backend = compute::make_cuda_backend(*cuda.device);
  CHECK(backend->limits().max_ops == cuda::kLimits.max_ops);
  CHECK(backend->limits().max_leaves == cuda::kLimits.max_leaves);
  REQUIRE(backend->executors().size() == 1);
  CHECK(backend->executors()[0]->name() == "cuda");
  CHECK(backend->prepare(std::chrono::milliseconds(0)));  // nothing is made in the background
}

#ifdef FOREBAY_HAVE_INTERPRETER
TEST_CASE("the interpreter is loaded when the device opens, and nothing by its first tensors") {
  for (const bool captured : {false, true}) {
    FakeDriver driver(FakeDriver::Options{.count_launches = true});
    Runtime runtime = Runtime::Impl::make(
        test::fake_config(), {[] {
                                return std::vector<DeviceReport>{{"cuda:0", "fake", true, ""}};
                              },
                              [&](int index, const Config& config) {
                                return cuda::CudaDevice::open(driver.api(), index, config);
                              }});
    Device& device = runtime.device("cuda:0");
    const KernelCounters& kernels = device.counters().kernels;
    const std::uint64_t loaded = kernels.loaded;
    CHECK(loaded > 0);
    for (const char* call : {"cuModuleLoadData", "cuFuncLoad"}) {
      driver.fail(call, 1, CUDA_ERROR_NO_BINARY_FOR_GPU, true);
    }
    Tensor sum;
    const auto work = [&] { sum = (empty({5}, device) + 1.0F).eval(); };
    if (captured) {
      (void)capture(device, work);
    } else {
      work();
    }
    CHECK(kernels.interpreted_launches == 1);
    CHECK(kernels.loaded == loaded);
  }
}
#endif

TEST_CASE("a backend that is warm makes nothing for its first transfers") {
  FakeCuda cuda;
  const auto backend = compute::make_cuda_backend(*cuda.device);
  const auto made = [&] {
    return std::array<std::uint64_t, 4>{
        cuda.device->counters().events.load(), cuda.device->pinned_pool().stats().requested.current,
        cuda.device->pool().stats().requested.current, cuda.device->pool().stats().held.current};
  };
  const auto cold = made();
  backend->warm_up();
  const auto warm = made();
  CHECK(warm[0] > cold[0]);
  CHECK(warm[1] >= cold[1] + cuda.device->config().upload.ring_bytes);
  CHECK(warm[2] == cold[2]);
  CHECK(warm[3] > cold[3]);
  std::vector<float> numbers(1000, 2.0F);
  auto* const a = cuda.allocate<float>(1000);
  // Nor does its pool for its first blocks.
  (void)cuda.allocate<std::byte>(cuda.device->pool().config().capacity / 256);
  CHECK(made()[3] == warm[3]);
  const auto before = made();
  backend->upload(numbers.data(), DType::f32, a, DType::f32, 1000, cuda.stream);
  backend->warm_up();  // twice is fine
  CHECK(made() == before);
}

TEST_CASE("transfers and copies go through the device's memory") {
  FakeCuda cuda;
  const auto backend = compute::make_cuda_backend(*cuda.device);
  std::vector<std::int32_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 3);
  auto* const a = cuda.allocate<float>(1000);
  auto* const b = cuda.allocate<float>(1000);
  backend->upload(numbers.data(), DType::i32, a, DType::f32, 1000, cuda.stream);
  backend->copy(a, b, 4000, cuda.stream);
  backend->copy(a, b, 0, cuda.stream);
  std::vector<float> got(1000);
  backend->download(b, got.data(), 4000, cuda.stream);
  CHECK(got == std::vector<float>(numbers.begin(), numbers.end()));
  const compute::Backend::Upload both[] = {{numbers.data(), DType::i32, a, DType::i32, 500},
                                           {numbers.data() + 500, DType::i32, b, DType::i32, 500}};
  backend->upload_many(both, cuda.stream);
  std::vector<std::int32_t> whole(500);
  backend->download(b, whole.data(), 2000, cuda.stream);
  CHECK(whole == std::vector<std::int32_t>(numbers.begin() + 500, numbers.end()));
}

TEST_CASE("a custom kernel is compiled once and launched in the blocks that were asked for") {
  FakeCuda cuda({}, true);
  const auto backend = compute::make_cuda_backend(*cuda.device);
  void* data = nullptr;
  float x = 1.0F;
  void* const arguments[] = {&data, &x};
  backend->run(kKernel, arguments, 0, cuda.stream);
  CHECK(cuda.driver.launches() == 0);
  for (int i = 0; i < 3; ++i) backend->run(kKernel, arguments, 7, cuda.stream);
  CHECK(cuda.driver.launches() == 3);
  CHECK(cuda.device->counters().kernels.compiled == 1);
  CHECK(cuda.device->counters().kernels.compiled_launches == 3);
  cuda.driver.fail("cuLaunchKernel", 1, CUDA_ERROR_INVALID_VALUE);
  CHECK_THROWS_AS(backend->run(kKernel, arguments, 7, cuda.stream), DriverError);
}

TEST_CASE("a custom kernel that does not compile says so each time") {
  FakeCuda cuda({}, true);
  const auto backend = compute::make_cuda_backend(*cuda.device);
  const CustomKernel broken{
      .name = "fill", .cuda_source = "nonsense", .block = 64, .host = nullptr};
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(backend->run(broken, {}, 1, cuda.stream), CompileError);
  }
}

TEST_CASE("a backend gives everything back with its device") {
  FakeDriver driver(FakeDriver::Options{.count_launches = true});
  {
    const auto device = cuda::CudaDevice::open(driver.api(), 0, test::fake_config());
    auto backend = compute::make_cuda_backend(*device);
    std::vector<float> numbers(1'000'000);
    void* const target =
        pool::Pool(device->pool()).allocate(4'000'000, device->default_stream().id());
    backend->upload(numbers.data(), DType::f32, target, DType::f32, numbers.size(),
                    device->default_stream());
    pool::Pool(device->pool()).deallocate(target, device->default_stream().id());
    backend.reset();
    CHECK(device->pinned_pool().stats().allocations.live == 0);
    CHECK(device->pool().stats().allocations.live == 0);
    device->close();
  }
  CHECK(driver.leaks() == "");
}
