#include <set>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/size_classes.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("requests go to the smallest block that is large and aligned enough") {
  const SizeRouter router(64 * kKiB, kMiB);
  for (std::size_t bytes = 1; bytes <= 64 * kKiB; bytes += 13) {
    const ClassKey key = router.route(bytes, 256);
    REQUIRE(key < kSlabClasses);
    REQUIRE(router.block_bytes(key) >= bytes);
    if (key > 0) REQUIRE(router.block_bytes(ClassKey(key - 1)) < bytes);
  }
  CHECK(router.block_bytes(router.route(64 * kKiB + 1, 256)) == 128 * kKiB);
  CHECK(router.block_bytes(router.route(300 * kKiB, 256)) == 512 * kKiB);
  CHECK(router.block_bytes(router.route(kMiB, 256)) == kMiB);
  CHECK(router.route(kMiB + 1, 256) == kSpanClass);
  CHECK(router.block_bytes(router.route(100, 4096)) == 4096);
  CHECK(router.block_bytes(router.route(2300, 1024)) % 1024 == 0);
  CHECK(router.route(100, 128 * kKiB) == kSpanClass);
  const SizeRouter no_buddy(64 * kKiB, 0);
  CHECK(no_buddy.route(64 * kKiB + 1, 256) == kSpanClass);
  const SizeRouter no_slab(0, kMiB);
  CHECK(no_slab.route(100, 256) == kSpanClass);
  CHECK(no_slab.block_bytes(no_slab.route(3000, 256)) == 4096);
}

TEST_CASE("slab pages and buddy chunks are spans that go back when they are empty") {
  World world(World::Config{.immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(world.pool.allocate(1000, 1));
  for (int i = 0; i < 40; ++i) blocks.push_back(world.pool.allocate(200 * kKiB, 1));
  PoolStats stats = world.pool.stats();
  CHECK(stats.slab.pages == 16);
  CHECK(stats.slab.allocated == 1000 * 1024);
  REQUIRE(stats.slab.classes.size() == 1);
  CHECK(stats.slab.classes[0].bytes == 1024);
  CHECK(stats.slab.classes[0].used == 1000);
  CHECK(stats.slab.classes[0].slots == 16 * 64);
  CHECK(stats.buddy.chunks == 5);
  CHECK(stats.buddy.allocated == 40 * 256 * kKiB);
  CHECK(world.sound());
  for (void* block : blocks) world.pool.deallocate(block, 1);
  stats = world.pool.stats();
  // One page and one chunk stay for the next pair, and the chunk in which a block is parked.
  CHECK(stats.slab.pages == 1);
  CHECK(stats.buddy.chunks == 2);
  CHECK(stats.slab.allocated + stats.buddy.allocated == 0);
  CHECK(world.sound());
  world.pool.trim();
  stats = world.pool.stats();
  CHECK(stats.slab.pages + stats.buddy.chunks == 0);
  CHECK(stats.slab.classes.empty());
  CHECK(stats.buddy.orders.empty());
  CHECK(world.sound());
}

TEST_CASE("a pair at the edge of a page makes and returns none") {
  World world;
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(world.pool.allocate(1024, 1));
  void* over = world.pool.allocate(1024, 1);
  const std::uint64_t misses = world.pool.stats().streams.front().misses;
  for (int i = 0; i < 100; ++i) {
    world.pool.deallocate(over, 1);
    over = world.pool.allocate(1024, 1);
  }
  CHECK(world.pool.stats().slab.pages == 2);
  CHECK(world.pool.stats().streams.front().misses == misses);
  CHECK(world.sound());
}

TEST_CASE("the lowest buddy block is taken first") {
  World world;
  std::set<void*> blocks;
  for (int i = 0; i < 24; ++i) blocks.insert(world.pool.allocate(256 * kKiB, 1));
  void* lowest = *blocks.begin();
  void* highest = *blocks.rbegin();
  void* parked = *std::next(blocks.begin(), 7);
  world.pool.deallocate(parked, 1);
  world.pool.deallocate(highest, 1);
  world.pool.deallocate(lowest, 1);
  // The one that waits for the next request of its size splits nothing.
  CHECK(world.pool.allocate(256 * kKiB, 1) == parked);
  CHECK(world.pool.allocate(256 * kKiB, 1) == lowest);
  CHECK(world.pool.allocate(256 * kKiB, 1) == highest);
}

TEST_CASE("a small block freed on another stream is at once that stream's, and comes home later") {
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB}) {
    World world;
    void* block = world.pool.allocate(bytes, 1);
    // Stream 2 has a carrier of its own that is full, so that it has to take the foreign block.
    world.timeline->work(2);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
    CHECK(world.pool.stats().pending.current > 0);
    CHECK(world.pool.allocate(bytes, 2) == block);
    CHECK(world.sound());
    CHECK(world.pool.stats().slab.pages + world.pool.stats().buddy.chunks == 1);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
    // Not stream 1's while stream 2 may still use it.
    world.timeline->work(2);
    CHECK(world.pool.allocate(bytes, 1) != block);
    // A miss records a point behind that work; the next one learns that it has passed.
    (void)world.pool.allocate(100 * kMiB, 3);
    world.timeline->run_all();
    (void)world.pool.allocate(60 * kMiB, 3);
    CHECK(world.pool.stats().pending.current == 0);
    CHECK(world.pool.allocate(bytes, 1) == block);
    CHECK(world.sound());
  }
}

TEST_CASE("where no carrier can be had another stream's is adopted after its frees") {
  World world(World::Config{.capacity = 2 * kMiB, .buddy_max_block = 0});
  std::vector<void*> blocks;
  // Every byte is in pages of stream 1, a free block in each.
  try {
    while (true) blocks.push_back(world.pool.allocate(1024, 1));
  } catch (const OutOfMemory&) {
  }
  REQUIRE(blocks.size() == 2 * kMiB / 1024);
  world.timeline->work(1);
  world.pool.deallocate(blocks[5], 1);
  void* adopted = world.pool.allocate(1024, 2);
  CHECK(adopted == blocks[5]);
  CHECK(world.timeline->ordered(2, 1, 1));
  CHECK(world.pool.stats().ladder.steal.count == 1);
  CHECK(world.sound());
  // What stream 1 frees in that page is a foreign free now.
  world.pool.deallocate(blocks[6], 1);
  CHECK(world.sound());
  world.timeline->run_all();
  for (std::size_t i = 7; i < blocks.size(); ++i) world.pool.deallocate(blocks[i], 1);
  CHECK(world.sound());
}

TEST_CASE("a small block gets a span of its own where a carrier has no room") {
  World world(World::Config{.capacity = 4 * kMiB});
  // Less than a chunk of 2 MiB is left.
  (void)world.pool.allocate(3 * kMiB, 1);
  void* block = world.pool.allocate(200 * kKiB, 1);
  REQUIRE(block != nullptr);
  CHECK(world.pool.stats().buddy.chunks == 0);
  CHECK(world.pool.stats().span.blocks == 2);
  CHECK(world.pool.try_deallocate(block, 1, 200 * kKiB) == Misuse::none);
  CHECK(world.sound());
}
