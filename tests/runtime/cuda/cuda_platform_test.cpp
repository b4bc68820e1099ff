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
