#include "tools/forebay/simulated_device.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("a simulated device gives more memory than any machine has") {
  const auto device = tools::SimulatedDevice::open({});
  const pool::StreamId stream = device->default_stream().id();
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(device->pool().allocate(std::size_t{1} << 40, stream));
  }
  CHECK(device->pool().stats().requested.current == std::size_t{8} << 40);
  for (void* block : blocks) device->pool().deallocate(block, stream);
  CHECK(device->pool().validate().empty());
  CHECK(device->stats_json().find("\"name\": \"simulated\"") != std::string::npos);
  CHECK(device->stats_json().find("\"kind\": \"simulated\"") != std::string::npos);
  CHECK(device->id() == "simulated");
  CHECK(device->create_stream().id() != stream);
}

TEST_CASE("a simulated device refuses keys that need memory, with the way to some") {
  const auto refusal = [](const Config& config) -> std::string {
    try {
      static_cast<void>(tools::SimulatedDevice::open(config));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  Config fill, canary;
  fill.pool.debug_fill = true;
  canary.pool.debug_canary = 256;
  CHECK(refusal(fill) ==
        "/pool/debug/fill: must be false on the simulated device, which has no memory to write or "
        "read; give --device host or --device cuda");
  CHECK(refusal(canary).find("/pool/debug/canary: must be 0 on the simulated device") == 0);
}

TEST_CASE("the configuration's capacity is a simulated device's limit") {
  Config config;
  config.pool.capacity = std::size_t{1} << 30;
  const auto device = tools::SimulatedDevice::open(config);
  const pool::StreamId stream = device->default_stream().id();
  CHECK_THROWS_AS(device->pool().allocate(std::size_t{2} << 30, stream), OutOfMemory);
  void* block = device->pool().allocate(1000, stream);
  CHECK(device->free_bytes() < tools::SimulatedDevice::kTotal);
  device->pool().deallocate(block, stream);
  device->close();
  CHECK_THROWS_AS(device->create_stream(), ClosedError);
}
