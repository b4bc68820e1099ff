#include "runtime/driver/nvrtc_api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using driver::NvrtcApi;

TEST_CASE("NVRTC opens without a driver and knows its version and architectures") {
  const auto nvrtc = NvrtcApi::open();
  CHECK(nvrtc->version >= 12000);
  CHECK(nvrtc->path.find("libnvrtc.so") != std::string::npos);
  int count = 0;
  REQUIRE(nvrtc->nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS);
  std::vector<int> known(static_cast<std::size_t>(count));
  REQUIRE(nvrtc->nvrtcGetSupportedArchs(known.data()) == NVRTC_SUCCESS);
  CHECK(std::count(known.begin(), known.end(), 90) == 1);
}

TEST_CASE("NVRTC's second library is open with it, wherever the toolkit lies") {
  const auto api = NvrtcApi::open(0);
  const std::string name = "libnvrtc-builtins.so." + std::to_string(api->version / 1000) + "." +
                           std::to_string(api->version % 1000 / 10);
  // By name alone, as NVRTC asks for it, and only if it is open already.
  CHECK(dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr);
}

TEST_CASE("an NVRTC that a driver cannot follow is not opened") {
  // No release has this major, and majors below 12 are too old.
  CHECK_THROWS_AS(NvrtcApi::open(11080), DriverError);
}

TEST_CASE("NVRTC's errors carry the call and its text") {
  const auto nvrtc = NvrtcApi::open();
  CHECK_NOTHROW(check(*nvrtc, NVRTC_SUCCESS, "nvrtcCompileProgram"));
  try {
    check(*nvrtc, NVRTC_ERROR_INVALID_OPTION, "nvrtcCompileProgram");
    FAIL("an error was let through");
  } catch (const DriverError& error) {
    CHECK(std::string(error.what()) == "nvrtcCompileProgram: NVRTC_ERROR_INVALID_OPTION (5)");
    CHECK(error.code() == NVRTC_ERROR_INVALID_OPTION);
  }
}
