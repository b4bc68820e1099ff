#include "runtime/driver/cuda_api.hpp"

#include <cstdlib>
#include <string>

#include "forebay/pool/error.hpp"
#include "runtime/driver/dynamic_library.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using driver::CudaApi;
using test::FakeDriver;

namespace {

/// What opening says when the sample driver is the one that is found; nothing if it works.
std::string refusal(const char* version, const char* missing) {
  const test::Ended ended = test::in_child([&] {
    setenv("SAMPLE_VERSION", version, 1);
    setenv("SAMPLE_MISSING", missing, 1);
    // A loaded library is found by its soname, before any in the loader's path.
    if (!driver::DynamicLibrary::open(FOREBAY_SAMPLE_FOLDER "/driver/libcuda.so.1")) {
      return 1;
    }
    try {
      (void)CudaApi::open();
    } catch (const DeviceError& error) {
      std::fputs(error.what(), stderr);
      return 0;
    }
    return 2;
  });
  CHECK(ended.code == 0);
  return ended.err;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an old driver, a lacking one and one without a device say so") {
  const std::string old = refusal("12030", "");
  CHECK(holds(old, "is for CUDA 12.3, CUDA 12.4 (release 550) or newer is needed"));
  CHECK(holds(old, "libcuda.so.1"));
  CHECK(holds(refusal("13000", "cuFuncLoad"), "has no function cuFuncLoad of CUDA 12.4"));
  CHECK(holds(refusal("13000", ""), "does not start: cuInit"));
}

TEST_CASE("the names that the driver is asked for carry no version") {
  // cuda.h makes cuMemAlloc_v2 of cuMemAlloc; the driver finds the right one by number.
  CHECK(holds(refusal("13000", "cuMemAlloc"), "has no function cuMemAlloc of CUDA 3.2"));
}

TEST_CASE("a driver that is not there is an error with the loader's reason") {
  if (driver::DynamicLibrary::open("libcuda.so.1")) {
    return;  // tests/gpu opens it
  }
  try {
    (void)CudaApi::open();
    FAIL("opened what is not there");
  } catch (const DeviceError& error) {
    CHECK(holds(error.what(), "no CUDA driver on this machine: libcuda.so.1"));
  }
}

TEST_CASE("errors carry the call, the driver's name for them and their number") {
  const FakeDriver fake;
  const auto api = fake.api();
  CHECK(describe(*api, CUDA_ERROR_OUT_OF_MEMORY) == "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  CHECK(describe(*api, static_cast<CUresult>(998)) ==
        "unknown error (998): the driver has no text for it");
  CHECK_NOTHROW(check(*api, CUDA_SUCCESS, "cuMemCreate"));
  try {
    check(*api, CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
    FAIL("an error was let through");
  } catch (const DriverError& error) {
    CHECK(std::string(error.what()) == "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
    CHECK(error.code() == CUDA_ERROR_OUT_OF_MEMORY);
  }
}

TEST_CASE("calls are counted") {
  const FakeDriver fake;
  const auto api = fake.api();
  const std::uint64_t before = api->calls();
  int count = 0;
  for (int i = 0; i < 5; ++i) {
    CHECK(api->cuDeviceGetCount(&count) == CUDA_SUCCESS);
  }
  CHECK(api->calls() == before + 5);
  CHECK(api->cuDeviceGetCount.calls() == 5);
}

TEST_CASE("a forked child may not use its parent's driver") {
  const FakeDriver fake;
  const auto api = fake.api();
  CHECK(api->usable());
  CHECK(test::in_child([&] { return api->usable() ? 1 : 0; }).code == 0);
  CHECK(api->usable());
}
