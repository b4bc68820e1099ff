#include "tools/forebay/device_timer_cuda.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("a timer has two events and gives them back") {
  test::FakeDriver driver;
  const auto device = cuda::CudaDevice::open(driver.api(), 0, test::fake_config());
  const std::string before = driver.leaks();
  {
    CudaTimer timer(*device);
    CHECK(driver.leaks() != before);
    int runs = 0;
    // The fake driver has no clock, and says so.
    CHECK_THROWS_AS(timer.seconds([&] { ++runs; }), DriverError);
    CHECK(runs == 1);
  }
  CHECK(driver.leaks() == before);
  driver.fail("cuEventCreate", 2, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_THROWS_AS(CudaTimer(*device), DriverError);
  CHECK(driver.leaks() == before);
  device->close();
}
