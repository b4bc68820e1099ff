#include "compute/cuda/interpreter_kernels.hpp"

#include <array>
#include <set>
#include <string>

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/cuda/fake_image.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using cuda::InterpreterKernel;
using cuda::InterpreterKernels;
using cuda::ParameterLength;

namespace {

// Light maps, reductions and reductions by steps have brief ones beside them.
constexpr std::size_t kAll = cuda::kInterpreterKernels + 3;

}  // namespace

TEST_CASE("the interpreter is loaded when it is made, and unloaded with it") {
  FakeCuda cuda;
  const Counter& loaded = cuda.device->counters().kernels.loaded;
  const std::uint64_t loads = cuda.driver.api()->cuFuncLoad.calls();
  {
    const InterpreterKernels kernels(*cuda.device, kFakeImage);
    std::set<CUfunction> functions;
    for (unsigned k = 0; k < cuda::kInterpreterKernels; ++k) {
      const auto kernel = static_cast<InterpreterKernel>(k);
      functions.insert(kernels.function(kernel, ParameterLength::full));
      if (!exists(kernel, ParameterLength::brief)) continue;
      functions.insert(kernels.function(kernel, ParameterLength::brief));
    }
    CHECK(functions.size() == kAll);
    CHECK(functions.count(nullptr) == 0);
    CHECK(cuda.driver.api()->cuFuncLoad.calls() - loads == kAll);
    CHECK(cuda.driver.api()->cuFuncSetAttribute.calls() == kAll);
    CHECK(kernels.shared_limit() == 232448);
    CHECK(loaded == kAll);
    CHECK(cuda.driver.leaks().find("2 modules") != std::string::npos);
  }
  CHECK(loaded == 0);
  CHECK(cuda.driver.leaks().find("modules") == std::string::npos);
}

TEST_CASE("an interpreter that cannot be loaded leaves nothing") {
  FakeCuda cuda;
  for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncLoad",
                           "cuFuncSetAttribute", "cuDeviceGetAttribute"}) {
    INFO(call);
    cuda.driver.fail(call, 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_THROWS_AS(InterpreterKernels(*cuda.device, kFakeImage), DriverError);
    CHECK(cuda.driver.leaks().find("modules") == std::string::npos);
    CHECK(cuda.device->counters().kernels.loaded == 0);
  }
}
