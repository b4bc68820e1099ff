// The kernel cache on a device: kernels run, and round as the source says.
#include <cmath>
#include <cstring>
#include <vector>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/support/driver_pieces.hpp"

using namespace forebay;
using namespace forebay::test;

TEST_CASE("a compiled kernel runs, and does not contract multiplications and additions") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, {});
  const driver::CudaApi& api = device->api();
  const CUfunction kernel = device->kernels().get(R"(
extern "C" __global__ void multiply_add(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i] + in[n - 1 - i];
}
)",
                                                  "multiply_add");
  CHECK(device->counters().kernels.compiled == 1);
  constexpr int kCount = 100000;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const pool::StreamId stream = device->default_stream().id();
  const auto queue = static_cast<CUstream>(device->default_stream().native());
  void* in = device->pool().allocate(kBytes, stream);
  void* out = device->pool().allocate(kBytes, stream);
  std::vector<float> host(kCount);
  for (int i = 0; i < kCount; ++i) {
    host[static_cast<std::size_t>(i)] = 1.0F / static_cast<float>(i + 3);
  }
  std::vector<float> result(kCount);
  REQUIRE(api.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(in), host.data(), kBytes, queue) ==
          CUDA_SUCCESS);
  int count = kCount;
  void* arguments[] = {&out, &in, &count};
  REQUIRE(api.cuLaunchKernel(kernel, (kCount + 255) / 256, 1, 1, 256, 1, 1, 0, queue, arguments,
                             nullptr) == CUDA_SUCCESS);
  REQUIRE(api.cuMemcpyDtoHAsync(result.data(), reinterpret_cast<CUdeviceptr>(out), kBytes, queue) ==
          CUDA_SUCCESS);
  device->default_stream().synchronize();
  int wrong = 0;
  int would_differ = 0;
  for (int i = 0; i < kCount; ++i) {
    const float x = host[static_cast<std::size_t>(i)];
    const float y = host[static_cast<std::size_t>(kCount - 1 - i)];
    const float product = x * x;
    wrong += result[static_cast<std::size_t>(i)] != product + y ? 1 : 0;
    would_differ += std::fma(x, x, y) != product + y ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(would_differ > 0);  // the test could have seen it
  device->pool().deallocate(in, stream);
  device->pool().deallocate(out, stream);
}

TEST_CASE("kernels are cached, failures too, and unloaded with the device") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, {});
  const std::string source = "extern \"C\" __global__ void nothing() {}";
  const CUfunction first = device->kernels().get(source, "nothing");
  CHECK(device->kernels().get(source, "nothing") == first);
  CHECK(device->counters().kernels.memory_hits == 1);
  CHECK_THROWS_AS(device->kernels().get("nonsense", "nothing"), CompileError);
  CHECK_THROWS_AS(device->kernels().get(source, "something"), DriverError);
  device->close();
  CHECK_THROWS_AS(device->kernels().get(source, "nothing"), ClosedError);
}

TEST_CASE("a kernel that comes from disk runs as the one that was compiled") {
  FOREBAY_REQUIRE_DEVICE();
  const char* const source = "extern \"C\" __global__ void from_disk(int* out) { *out = 271828; }";
  for (const bool first : {true, false}) {
    const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, {});
    const CUfunction kernel = device->kernels().get(source, "from_disk");
    CHECK(device->counters().kernels.compiled == (first ? 1 : 0));
    CHECK(device->counters().kernels.disk_written == (first ? 1 : 0));
    CHECK(device->counters().kernels.disk_hits == (first ? 0 : 1));
    const pool::StreamId stream = device->default_stream().id();
    const auto queue = static_cast<CUstream>(device->default_stream().native());
    void* out = device->pool().allocate(sizeof(int), stream);
    void* arguments[] = {&out};
    REQUIRE(device->api().cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, queue, arguments, nullptr) ==
            CUDA_SUCCESS);
    int result = 0;
    REQUIRE(device->api().cuMemcpyDtoHAsync(&result, reinterpret_cast<CUdeviceptr>(out),
                                            sizeof result, queue) == CUDA_SUCCESS);
    device->default_stream().synchronize();
    CHECK(result == 271828);
    device->pool().deallocate(out, stream);
  }
}
