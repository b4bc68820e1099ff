#include "runtime/host/host_device.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "pool/units.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using host::HostDevice;

namespace {
using pool::kMiB;

Config small_host() {
  Config config;
  config.pool.capacity = 64 * kMiB;
  return config;
}
}  // namespace

TEST_CASE("The host describes itself") {
  const auto device = HostDevice::open(small_host());
  CHECK(device->id() == "host");
  CHECK(device->info().kind == DeviceKind::host);
  CHECK_FALSE(device->info().name.empty());
  CHECK(device->info().multiprocessors >= 1);
  CHECK(device->info().total_bytes >= 64 * kMiB);
  CHECK(device->free_bytes() > 0);
  CHECK(device->driver_calls() == 0);
}

TEST_CASE("Its configuration is the effective one") {
  const auto device = HostDevice::open(small_host());
  CHECK(device->config().pool.capacity == 64 * kMiB);
  CHECK(device->config().pool.handle_size >= 2 * kMiB);
  CHECK(device->config().pool.address_range >= 64 * kMiB);
}

TEST_CASE("Without a capacity the host's pool may hold all of its memory") {
  const auto device = HostDevice::open({});
  CHECK(device->config().pool.capacity <= device->info().total_bytes);
  CHECK(device->config().pool.capacity + 2 * kMiB > device->info().total_bytes);
}

TEST_CASE("Its pool gives memory that can be used, and its pinned pool is the same one") {
  const auto device = HostDevice::open(small_host());
  const auto stream = device->default_stream().id();
  std::vector<void*> blocks;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, 100 * kMiB / 1024, 3 * kMiB}) {
    void* block = device->pool().allocate(bytes, stream);
    REQUIRE(block != nullptr);
    std::memset(block, 0x11, bytes);
    blocks.push_back(block);
  }
  CHECK(device->pinned_pool().stats().allocations.live == blocks.size());
  for (void* block : blocks) device->pinned_pool().deallocate(block, stream);
  CHECK(device->pool().stats().allocations.live == 0);
  CHECK(device->pool().validate().empty());
}

TEST_CASE("More than the capacity is refused with a report") {
  const auto device = HostDevice::open(small_host());
  try {
    (void)device->pool().allocate(65 * kMiB, device->default_stream().id());
    FAIL("nothing was thrown");
  } catch (const OutOfMemory& error) {
    CHECK_FALSE(error.report().empty());
  }
}

TEST_CASE("In passthrough mode blocks are regions of exactly their size") {
  Config config = small_host();
  config.pool.mode = pool::PoolMode::passthrough;
  const auto device = HostDevice::open(config);
  const auto stream = device->default_stream().id();
  void* block = device->pool().allocate(1000, stream);
  REQUIRE(block != nullptr);
  std::memset(block, 0x22, 1000);
  const pool::PoolStats stats = device->pool().stats();
  CHECK(stats.allocations.live == 1);
  CHECK(stats.driver.create.count == 0);
  CHECK(stats.driver.map.count == 0);
#ifdef __SANITIZE_ADDRESS__
  const auto ended = test::in_child([&] {
    static_cast<volatile char*>(block)[1000] = 1;
    return 0;
  });
  CHECK(ended.code != 0);
  CHECK(ended.err.find("heap-buffer-overflow") != std::string::npos);
#endif
  device->pool().deallocate(block, stream, 1000);
  CHECK(device->pool().stats().allocations.live == 0);
}

TEST_CASE("Streams have ids of their own and share what others free") {
  const auto device = HostDevice::open(small_host());
  const Stream first = device->create_stream();
  const Stream second = device->create_stream();
  CHECK(first.id() != second.id());
  CHECK(first.id() != device->default_stream().id());
  CHECK(first.native() == nullptr);
  CHECK_NOTHROW(first.synchronize());
  void* block = device->pool().allocate(60 * kMiB, first.id());
  device->pool().deallocate(block, first.id());
  block = device->pool().allocate(60 * kMiB, second.id());
  CHECK(block != nullptr);
  device->pool().deallocate(block, second.id());
}

TEST_CASE("A stream whose last handle is gone leaves nothing behind") {
  const auto device = HostDevice::open(small_host());
  const auto before = device->pool().stats().streams.size();
  for (int i = 0; i < 100; ++i) {
    const Stream stream = device->create_stream();
    device->pool().deallocate(device->pool().allocate(4096, stream.id()), stream.id());
  }
  CHECK(device->pool().stats().streams.size() <= before + 1);
  CHECK(device->pool().validate().empty());
}

TEST_CASE("A block that is given back on a stream of another device is seen") {
  const auto device = HostDevice::open(small_host());
  const auto stream = device->default_stream().id();
  void* block = device->pool().allocate(4096, stream);
  CHECK(device->pool().try_deallocate(block, 7) == pool::Misuse::wrong_device);
  CHECK(device->pool().try_deallocate(block, stream) == pool::Misuse::none);
}

TEST_CASE("A stream that outlives its device throws when it is waited for") {
  Stream stream;
  {
    const auto device = HostDevice::open(small_host());
    stream = device->create_stream();
    device->close();
    CHECK_THROWS_AS(stream.synchronize(), ClosedError);
    CHECK_THROWS_AS(device->create_stream(), ClosedError);
  }
  CHECK_THROWS_AS(stream.synchronize(), ClosedError);
}

TEST_CASE("Its pool may be made of regions") {
  Config config = small_host();
  config.pool.backing = pool::PoolBacking::malloc;
  const auto device = HostDevice::open(config);
  const pool::StreamId stream = device->default_stream().id();
  void* block = device->pool().allocate(3 * kMiB, stream);
  std::memset(block, 1, 3 * kMiB);
  CHECK(device->pool().stats().driver.allocate_region.count == 1);
  CHECK(device->pool().stats().driver.create.count == 0);
  device->pool().deallocate(block, stream);
  device->pool().trim();
  CHECK(device->pool().stats().device_syncs == 0);  // freeing waits for nothing here
}

TEST_CASE("Its memory is shared with no other process, and it says so") {
  const auto device = HostDevice::open(small_host());
  const auto message = [](auto&& act) -> std::string {
    try {
      (void)act();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message([&] { return device->export_block(nullptr); }) ==
        "memory of host cannot be exported; only a CUDA device's can");
  CHECK(message([&] { return device->import_block({}); }) ==
        "memory cannot be imported to host; only to a CUDA device");
  device->close();
  CHECK_THROWS_AS(device->export_block(nullptr), ClosedError);
}
