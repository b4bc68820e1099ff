#include "runtime/cuda/cuda_platform.hpp"

#include "forebay/pool/error.hpp"
#include "runtime/driver/dynamic_library.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("a machine without a driver lists one line that says why") {
  if (driver::DynamicLibrary::open("libcuda.so.1")) {
    return;  // tests/gpu lists what is there
  }
  for (int round = 0; round < 2; ++round) {
    const auto devices = cuda::list_devices();
    REQUIRE(devices.size() == 1);
    CHECK(devices[0].id == "cuda");
    CHECK_FALSE(devices[0].usable);
    CHECK(devices[0].detail.find("no CUDA driver on this machine: libcuda.so.1") == 0);
    CHECK_THROWS_AS(cuda::open_device(0, {}), DeviceError);
  }
}

TEST_CASE("devices say which compiler they have, and what it means if there is none") {
  const std::string there = cuda::describe_compiler(0);
  INFO(there);
  CHECK(there.find("NVRTC 1") == 0);
  // A driver so old that no NVRTC is for it.
  const std::string none = cuda::describe_compiler(11080);
  INFO(none);
  CHECK(none.find("without a compiler, so ") == 0);
  CHECK(none.find("NVRTC, the compiler for kernels, was not found") != std::string::npos);
  CHECK(none.find('\n') == std::string::npos);
}
