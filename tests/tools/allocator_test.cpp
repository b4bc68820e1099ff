#include "tools/forebay/allocator.hpp"

#include "tests/support/catch.hpp"
#include "tools/forebay/simulated_device.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("a pool's allocator has streams of its own and gives back what nobody uses") {
  const auto device = SimulatedDevice::open({});
  PoolAllocator allocator("forebay", device, 3);
  CHECK(std::string(allocator.name()) == "forebay");
  std::vector<void*> blocks;
  for (unsigned stream = 0; stream < 3; ++stream) {
    blocks.push_back(allocator.allocate(3000, stream));
  }
  pool::PoolStats stats = device->pool().stats();
  CHECK(stats.streams.size() == 3);
  CHECK(stats.requested.current == 9000);
  for (unsigned stream = 0; stream < 3; ++stream) allocator.free(blocks[stream], 3000, stream);
  allocator.free(nullptr, 3000, 0);
  stats = device->pool().stats();
  CHECK(stats.allocations.live == 0);
  CHECK(stats.held.current > 0);
  allocator.trim();
  stats = device->pool().stats();
  CHECK(stats.held.current == 0);
  CHECK(stats.errors.size_mismatch + stats.errors.double_free == 0);
}

TEST_CASE("a device without a driver has no driver's allocators") {
  const auto device = SimulatedDevice::open({});
  CHECK(driver_allocators(*device, 4).empty());
}
