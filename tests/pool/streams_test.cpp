#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("a stream that the timeline does not know is refused by name") {
  World world;
  try {
    (void)world.pool.allocate(100, 77);
    FAIL("allocated");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("stream 77") != std::string::npos);
  }
  CHECK(world.pool.stats().streams.empty());
}

TEST_CASE("what a retired stream held is everybody's once its work is done") {
  World world(World::Config{.capacity = 8 * kMiB});
  void* large = world.pool.allocate(4 * kMiB, 1);
  void* small = world.pool.allocate(1000, 1);
  world.pool.deallocate(large, 1);
  world.pool.deallocate(small, 1);
  world.timeline->work(1);
  world.pool.retire_stream(1);
  world.timeline->remove_stream(1);
  CHECK(world.pool.stats().pending.current >= 4 * kMiB);
  CHECK(world.sound());
  world.timeline->run_all();
  CHECK(world.pool.allocate(8 * kMiB, 2) != nullptr);
  CHECK(world.pool.stats().pending.current == 0);
  CHECK(world.sound());
  // A retired stream that is gone is unknown.
  CHECK_THROWS_AS(world.pool.allocate(10, 1), Error);
  world.pool.retire_stream(1);
  world.pool.retire_stream(55);
}

TEST_CASE("blocks that outlive their stream are freed elsewhere") {
  World world(World::Config{.immediate = true});
  void* large = world.pool.allocate(4 * kMiB, 1);
  void* small = world.pool.allocate(1000, 1);
  void* middle = world.pool.allocate(200 * kKiB, 1);
  world.pool.retire_stream(1);
  world.timeline->remove_stream(1);
  CHECK(world.sound());
  for (void* block : {large, small, middle}) {
    CHECK(world.pool.try_deallocate(block, 1) == Misuse::wrong_device);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
  }
  world.pool.trim();
  const PoolStats stats = world.pool.stats();
  CHECK(stats.streams.size() <= 1);
  CHECK(stats.held.current == 0);
  CHECK(stats.allocations.total == 3);
  CHECK(world.sound());
}

TEST_CASE("a stream that was retired and is used again goes on") {
  World world;
  world.timeline->work(1);
  void* block = world.pool.allocate(1000, 1);
  world.pool.deallocate(block, 1);
  world.pool.retire_stream(1);
  CHECK(world.pool.allocate(1000, 1) == block);
  world.timeline->run_all();
  world.pool.trim();
  world.pool.deallocate(block, 1);
  world.pool.retire_stream(1);
  world.timeline->run_all();
  world.pool.trim();
  CHECK(world.pool.allocate(1000, 1) != nullptr);
  world.pool.trim();
  CHECK(world.sound());
}

TEST_CASE("a last point that cannot be recorded leaves the stream as it was") {
  World world;
  void* block = world.pool.allocate(3 * kMiB, 1);
  world.pool.deallocate(block, 1);
  world.timeline->fail_records(1);
  CHECK_FALSE(world.pool.retire_stream(1));
  CHECK(world.logged("the last point of stream 1 could not be recorded"));
  CHECK(world.pool.stats().pending.current == 3 * kMiB);
  world.pool.retire_stream(1);
  world.timeline->run_all();
  world.pool.trim();
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.sound());
}

TEST_CASE("the peak of what was requested is exact on one thread, whatever the streams") {
  World world;
  Count now = 0, peak = 0;
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t i = 0; i < 3000; ++i) {
    const StreamId stream = 1 + i % 4;
    if (i % 3 != 2) {
      const std::size_t bytes = 1 + i * 37 % 50'000;
      blocks.emplace_back(world.pool.allocate(bytes, stream), bytes);
      now += bytes;
      peak = std::max(peak, now);
    } else {
      world.pool.deallocate(blocks.back().first, stream);
      now -= blocks.back().second;
      blocks.pop_back();
    }
    if (i % 500 == 0) CHECK(world.pool.stats().requested.current == now);
  }
  CHECK(world.pool.stats().requested.peak == peak);
  while (!blocks.empty()) {
    world.pool.deallocate(blocks.back().first, 1);
    blocks.pop_back();
  }
  CHECK(world.pool.stats().requested.peak == peak);
  CHECK(world.pool.stats().requested.current == 0);
}

TEST_CASE("the statistics of streams add up to the pool's") {
  World world;
  void* block = world.pool.allocate(5000, 1);
  (void)world.pool.allocate(3 * kMiB, 2);
  CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
  const PoolStats stats = world.pool.stats();
  REQUIRE(stats.streams.size() == 2);
  CHECK(stats.streams[0].id == 1);
  CHECK(stats.streams[0].allocated == 0);
  CHECK(stats.streams[1].allocated == 3 * kMiB);
  CHECK(stats.streams[1].pending == 5120);
  CHECK(world.sound());
}
