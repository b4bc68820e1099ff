#include "runtime/simulated/simulated_device.hpp"

#include <nlohmann/json.hpp>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using simulated::SimulatedDevice;

TEST_CASE("A simulated device has the memory of a GPU and none behind it") {
  const auto device = SimulatedDevice::open({}, 32);
  CHECK(device->id() == "simulated");
  CHECK(device->info().kind == DeviceKind::simulated);
  CHECK(device->info().total_bytes == 150'754'820'096);
  CHECK(device->config().pool.capacity == device->info().total_bytes);
  void* block = device->pool().allocate(std::size_t{100} << 30, device->default_stream().id());
  REQUIRE(block != nullptr);
  CHECK(device->free_bytes() < std::size_t{50} << 30);
  CHECK(device->driver_calls() > 0);
  CHECK(device->pool().stats().driver_us() > 0);
  device->pool().deallocate(block, device->default_stream().id());
  CHECK(device->pool().validate().empty());
}

TEST_CASE("A larger capacity makes a larger simulated device") {
  Config config;
  config.pool.capacity = std::size_t{1} << 40;
  CHECK(SimulatedDevice::open(config, 0)->info().total_bytes == std::size_t{1} << 40);
  config.pool.capacity = 1000;
  CHECK_THROWS_AS(SimulatedDevice::open(config, 0), ConfigError);
}

TEST_CASE("Memory freed on one stream of it is another's after the lag") {
  Config config;
  config.pool.capacity = std::size_t{4} << 20;
  config.pool.wait_limit_ms = 0;
  config.pool.point_every_frees = 1;
  const auto device = SimulatedDevice::open(config, 10);
  const Stream other = device->create_stream();
  CHECK(other.id() != device->default_stream().id());
  void* block = device->pool().allocate(config.pool.capacity, other.id());
  CHECK(device->pool().record_use(block, device->default_stream().id()) == pool::Misuse::none);
  device->pool().deallocate(block, other.id());
  // Two streams have to be done with it, so no order between streams helps.
  CHECK_THROWS_AS(device->pool().allocate(config.pool.capacity, other.id()), OutOfMemory);
  for (int i = 0; i < 20; ++i) device->timeline().tick();
  block = device->pool().allocate(config.pool.capacity, other.id());
  CHECK(block != nullptr);
  device->pool().deallocate(block, other.id());
}

TEST_CASE("Its statistics say what it is") {
  const auto device = SimulatedDevice::open({}, 0);
  const auto document = nlohmann::json::parse(device->stats_json());
  CHECK(document["device"]["kind"] == "simulated");
  CHECK_FALSE(document.contains("pinned"));
  device->close();
  CHECK_THROWS_AS(device->create_stream(), ClosedError);
}
