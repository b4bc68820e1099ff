#include "compute/cuda/custom_kernels.hpp"

#include <string>

#include "compute/gather.hpp"
#include "compute/strided_copy.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/cuda/fake_image.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::CustomKernel;
using cuda::CustomKernels;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void fill(float* data) { data[threadIdx.x] = 1.0F; }
)";

CustomKernel kernel_of(std::span<const std::byte> image) {
  return {.name = "fill",
          .cuda_source = kSource,
          .block = 64,
          .host = nullptr,
          .parameter_bytes = {},
          .cuda_image = image};
}

}  // namespace

TEST_CASE("a kernel with an image is loaded once, and nothing is compiled") {
  FakeCuda cuda({}, true);
  const KernelCounters& counters = cuda.device->counters().kernels;
  const CustomKernel first = kernel_of(kFakeImageBytes);
  const CustomKernel second = kernel_of(kFakeImageBytes);
  {
    CustomKernels kernels(*cuda.device);
    const CUfunction function = kernels.function(first);
    CHECK(function != nullptr);
    CHECK(kernels.function(first) == function);
    CHECK(kernels.function(second) != nullptr);
    CHECK(counters.loaded == 2);
    CHECK(counters.compiled == 0);
    CHECK(cuda.driver.leaks().find("1 modules") != std::string::npos);  // one image
  }
  CHECK(counters.loaded == 0);
  CHECK(cuda.driver.leaks().find("modules") == std::string::npos);
}

TEST_CASE("a kernel without an image is compiled, as is one whose image the driver does not take") {
  FakeCuda cuda({}, true);
  const KernelCounters& counters = cuda.device->counters().kernels;
  CustomKernels kernels(*cuda.device);
  const CustomKernel plain = kernel_of({});
  CHECK(kernels.function(plain) != nullptr);
  CHECK(counters.compiled == 1);
  CustomKernel older = kernel_of(kFakeImageBytes);
  const std::string source = std::string(kSource) + "// another\n";
  older.cuda_source = source.c_str();
  cuda.driver.fail("cuModuleLoadData", 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(kernels.function(older) != nullptr);
  CHECK(counters.compiled == 2);
}

TEST_CASE("an image that cannot be loaded now can be later") {
  FakeCuda cuda({}, true);
  CustomKernels kernels(*cuda.device);
  const CustomKernel kernel = kernel_of(kFakeImageBytes);
  for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncLoad"}) {
    cuda.driver.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THROWS_AS(kernels.function(kernel), DriverError);
  }
  CHECK(kernels.function(kernel) != nullptr);
  CHECK(cuda.device->counters().kernels.compiled == 0);
}

#ifdef FOREBAY_HAVE_INTERPRETER
TEST_CASE("the kernels of gather, arange and strided copies come with the library") {
  for (const std::size_t bytes : {1U, 2U, 4U, 8U}) {
    const CustomKernel& gather = compute::gather_kernel(bytes);
    CHECK(gather.cuda_image.size() > 1000);
    CHECK(gather.name == "forebay_gather_" + std::to_string(bytes));
    const CustomKernel& copy = compute::strided_copy_kernel(bytes);
    CHECK(copy.cuda_image.size() > 1000);
    CHECK(copy.name == "forebay_strided_copy_" + std::to_string(bytes));
  }
  CHECK(compute::positions_kernel().cuda_image.size() > 1000);
}
#endif
