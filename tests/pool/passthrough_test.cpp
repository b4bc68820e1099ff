#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::TimeCall;
using forebay::pool::test::World;

TEST_CASE("in passthrough each block is a region of exactly its bytes") {
  World world(World::Config{.mode = PoolMode::passthrough});
  void* block = world.pool.allocate(1001, 1);
  const auto address = reinterpret_cast<Address>(block);
  CHECK(world.source->accessible(address, 1001));
  CHECK_FALSE(world.source->accessible(address, 1002));
  CHECK(world.source->regions() == 1);
  CHECK(world.source->reservations() == 0);
  CHECK(world.pool.stats().held.current == 1001);
  CHECK(world.pool.try_deallocate(static_cast<char*>(block) + 1, 1) == Misuse::interior_pointer);
  CHECK(world.pool.try_deallocate(static_cast<char*>(block) + 1001, 1) == Misuse::foreign_pointer);
  CHECK(world.pool.try_deallocate(block, 1, 1000) == Misuse::size_mismatch);
  CHECK(world.sound());
}

TEST_CASE("in passthrough a region goes back when its free has passed") {
  World world(World::Config{.mode = PoolMode::passthrough});
  world.timeline->work(1);
  void* block = world.pool.allocate(5000, 1);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().pending.current == 5000);
  CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
  (void)world.pool.allocate(10, 1);
  CHECK(world.source->regions() == 2);
  world.timeline->run_all();
  (void)world.pool.allocate(10, 1);
  CHECK(world.source->regions() == 2);
  CHECK(world.pool.stats().pending.current == 0);
  CHECK(world.sound());
}

TEST_CASE("in passthrough a region that the source will not take back is tried again") {
  World world(World::Config{.immediate = true, .mode = PoolMode::passthrough});
  void* block = world.pool.allocate(5000, 1);
  world.source->fail(SourceCall::free_region, 1, false);
  world.pool.deallocate(block, 1);
  void* other = world.pool.allocate(10, 1);
  CHECK(world.source->regions() == 2);
  CHECK(world.sound());
  world.pool.deallocate(other, 1);
  world.pool.trim();
  CHECK(world.source->regions() == 0);
  CHECK(world.sound());
}

TEST_CASE("a region that is refused while its stream retires goes back at the next opportunity") {
  World world(World::Config{.mode = PoolMode::passthrough});
  void* pending = world.pool.allocate(100, 2);
  world.timeline->work(2);
  world.pool.deallocate(pending, 2);
  REQUIRE(world.pool.allocate(100, 1) != nullptr);
  const auto calls = [&] {
    return world.hooks->calls(TimeCall::record) + world.hooks->calls(TimeCall::passed);
  };
  // While stream 1 retires, another thread's allocation on it has got as far as to ask about stream
  // 2. Its region comes too late, and cannot be given back at once.
  world.source->fail(SourceCall::free_region, 1, true);
  std::thread late;
  world.hooks->before_record = [&](StreamId) {
    const std::uint64_t before = calls();
    late = std::thread([&] { static_cast<void>(world.pool.allocate(5000, 1)); });
    for (int i = 0; i < 10'000 && calls() == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  REQUIRE(world.pool.retire_stream(1));
  late.join();
  const PoolStats stats = world.pool.detailed_stats(100);
  CHECK(check_identities(stats) == "");
  CHECK(stats.free.current == 5000);
  CHECK(std::count_if(stats.map.begin(), stats.map.end(), [](const MapRange& range) {
          return range.state == "stuck" && range.bytes == 5000;
        }) == 1);
  const std::size_t regions = world.source->regions();
  world.source->fail(SourceCall::free_region, 0, false);
  world.timeline->run_all();
  world.pool.trim();
  CHECK(world.source->regions() == regions - 2);
  CHECK(world.pool.stats().free.current == 0);
  CHECK(world.sound());
}

TEST_CASE("in passthrough no wait begins after the limit") {
  World world(
      World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0, .mode = PoolMode::passthrough});
  void* block = world.pool.allocate(6 * kMiB, 1);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.sound());
}

TEST_CASE("in passthrough a pool that closes beside allocations keeps nothing") {
  for (int round = 0; round < 50; ++round) {
    World world(World::Config{.immediate = true, .mode = PoolMode::passthrough});
    std::thread other([&] {
      try {
        for (int i = 0; i < 1000; ++i) (void)world.pool.allocate(1000, 1);
      } catch (const ClosedError&) {
      }
    });
    while (world.pool.stats().allocations.total < 5) std::this_thread::yield();
    world.pool.close();
    other.join();
    REQUIRE(world.source->used_bytes() == 0);
  }
}

TEST_CASE("in passthrough alignment is kept and the capacity holds") {
  World world(World::Config{.capacity = 4 * kMiB, .mode = PoolMode::passthrough});
  void* block = world.pool.allocate(100, 1, {.alignment = 4096});
  CHECK(reinterpret_cast<Address>(block) % 4096 == 0);
  CHECK(world.sound());
  CHECK_THROWS_AS(world.pool.allocate(4 * kMiB, 1), OutOfMemory);
  world.pool.deallocate(block, 1);
  // The host waits for the pending free, and then there is room.
  CHECK(world.pool.allocate(4 * kMiB, 1) != nullptr);
  CHECK(world.pool.stats().host_waits == 1);
  CHECK(world.sound());
}

TEST_CASE("the headroom holds in passthrough, and trim says what waiting gave back") {
  World world(World::Config{.capacity = 64 * kMiB,
                            .headroom = 30 * kMiB,
                            .wait_limit_ms = 0,
                            .device = 40 * kMiB,
                            .mode = PoolMode::passthrough});
  void* block = world.pool.allocate(8 * kMiB, 1);
  CHECK_THROWS_AS(world.pool.allocate(3 * kMiB, 1), OutOfMemory);
  CHECK(world.source->free_bytes() == 32 * kMiB);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().held.current == 8 * kMiB);
  CHECK(world.pool.trim() == 8 * kMiB);
  CHECK(world.source->used_bytes() == 0);
}
