// The driver's allocators, on a fake driver.
#include <string>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"
#include "tools/forebay/alloc_bench.hpp"

using namespace forebay;
using namespace forebay::tools;
using Kind = AllocCase::Kind;

namespace {

std::shared_ptr<cuda::CudaDevice> open(const test::FakeDriver& driver) {
  Config config;
  config.kernels.prepare = false;
  return cuda::CudaDevice::open(driver.api(), 0, config);
}

}  // namespace

TEST_CASE("a CUDA device has the driver's two allocators, and both give back what they took") {
  const test::FakeDriver driver;
  const auto device = open(driver);
  const auto allocators = driver_allocators(*device, 4);
  REQUIRE(allocators.size() == 2);
  CHECK(std::string(allocators[0]->name()) == "cuMemAllocAsync");
  CHECK(std::string(allocators[1]->name()) == "cuMemAlloc");
  const std::size_t free_before = device->free_bytes();
  for (const auto& allocator : allocators) {
    INFO(allocator->name());
    for (const Kind kind : {Kind::pair, Kind::churn, Kind::lifo, Kind::fifo, Kind::own_streams,
                            Kind::shared_stream, Kind::producer_consumer}) {
      INFO(name_of(kind));
      const AllocCase what{kind, 4096, 10, has_control(kind) ? 4U : 1U};
      const AllocRow row = run_case(*allocator, what, {0.005, 10});
      CHECK(row.pairs > 0);
    }
    allocator->trim();
    CHECK(device->free_bytes() == free_before);
  }
  CHECK(driver.api()->cuMemAllocAsync.calls() > 0);
  CHECK(driver.api()->cuMemAllocAsync.calls() == driver.api()->cuMemFreeAsync.calls());
  CHECK(driver.api()->cuMemAlloc.calls() > 0);
  CHECK(driver.api()->cuMemAlloc.calls() == driver.api()->cuMemFree.calls());
}

TEST_CASE("a full device is out of memory, any other failure is the driver's") {
  const test::FakeDriver driver;
  const auto device = open(driver);
  for (const auto& allocator : driver_allocators(*device, 1)) {
    INFO(allocator->name());
    CHECK_THROWS_AS(allocator->allocate(std::size_t{1} << 46, 0), OutOfMemory);
    CHECK_THROWS_AS(allocator->allocate(0, 0), DriverError);
    allocator->free(nullptr, 0, 0);
  }
}
