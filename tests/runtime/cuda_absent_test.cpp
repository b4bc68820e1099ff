// Linked with cuda_absent.cpp instead of the CUDA part, so it shows a build without CUDA's headers.
#include <string>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("A build without CUDA says so") {
  Runtime runtime = Runtime::create();
  const auto reports = runtime.devices();
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].id == "host");
  CHECK(reports[0].usable);
  CHECK(reports[1].id == "cuda");
  CHECK_FALSE(reports[1].usable);
  CHECK(reports[1].detail == "this build has no CUDA support: it was built without CUDA's headers");
}

TEST_CASE("A build without CUDA runs on the host and refuses CUDA devices") {
  Config config;
  config.pool.capacity = std::size_t{64} << 20;
  Runtime runtime = Runtime::create(config);
  CHECK(runtime.device("auto").id() == "host");
  for (const char* id : {"cuda", "cuda:0"}) {
    try {
      (void)runtime.device(id);
      FAIL("nothing was thrown");
    } catch (const DeviceError& error) {
      const std::string line = error.what();
      INFO(line);
      CHECK(line.find("no CUDA support") != std::string::npos);
      CHECK(line.find("usable are: host") != std::string::npos);
    }
  }
}
