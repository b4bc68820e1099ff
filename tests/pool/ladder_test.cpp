#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

void work_and_free(World& world, void* block, StreamId stream) {
  world.timeline->work(stream);
  REQUIRE(world.pool.try_deallocate(block, stream) == Misuse::none);
}

}  // namespace

// The three streams of RMM #2489. A frees memory under work; B takes it after a wait on A and gives
// it back at once, so that it has done nothing on it; C takes it from B. If C waits for what B had
// recorded before its own wait on A, C runs while A still works on the memory.
TEST_CASE("memory that was stolen carries the thief's order with it") {
  World world(World::Config{.capacity = 10 * kMiB, .point_every_frees = 1});
  constexpr StreamId a = 1, b = 2, c = 3;
  // B has a recorded point from before.
  void* early = world.pool.allocate(1000, b);
  work_and_free(world, early, b);
  void* block = world.pool.allocate(8 * kMiB, a);
  const std::uint64_t use = world.timeline->work(a);
  work_and_free(world, block, a);
  void* stolen = world.pool.allocate(8 * kMiB, b);
  REQUIRE(stolen == block);
  CHECK(world.timeline->ordered(b, a, use));
  REQUIRE(world.pool.try_deallocate(stolen, b) == Misuse::none);
  void* again = world.pool.allocate(8 * kMiB, c);
  // The same memory, from where B's free range begins now.
  REQUIRE(static_cast<char*>(block) - static_cast<char*>(again) < std::ptrdiff_t{2} << 20);
  REQUIRE(again <= block);
  CHECK(world.timeline->ordered(c, a, use));
  CHECK(world.pool.stats().ladder.steal.count == 2);
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.sound());
}

TEST_CASE("merging never makes one stream's memory another's") {
  // Neighbours freed on two streams are taken as one range by a third, which waits for both.
  World world(World::Config{.capacity = 8 * kMiB});
  void* left = world.pool.allocate(4 * kMiB, 1);
  void* right = world.pool.allocate(4 * kMiB, 2);
  const std::uint64_t one = world.timeline->work(1);
  const std::uint64_t two = world.timeline->work(2);
  REQUIRE(world.pool.try_deallocate(left, 1) == Misuse::none);
  REQUIRE(world.pool.try_deallocate(right, 2) == Misuse::none);
  CHECK(world.pool.stats().span.extents >= 2);
  void* both = world.pool.allocate(8 * kMiB, 3);
  CHECK(both == left);
  CHECK(world.timeline->ordered(3, 1, one));
  CHECK(world.timeline->ordered(3, 2, two));
  CHECK(world.sound());
}

TEST_CASE("a steal waits for the block's own point, not for the newest") {
  World world(World::Config{.capacity = 8 * kMiB, .point_every_frees = 1});
  void* first = world.pool.allocate(4 * kMiB, 1);
  void* second = world.pool.allocate(3 * kMiB, 1);
  void* small = world.pool.allocate(1000, 1);
  work_and_free(world, first, 1);
  // Neighbours that are freed soon after each other wait for one point; these two are not.
  for (int i = 0; i < 4; ++i) {
    world.pool.deallocate(small, 1);
    small = world.pool.allocate(1000, 1);
  }
  const std::uint64_t later = world.timeline->work(1);
  work_and_free(world, second, 1);
  void* stolen = world.pool.allocate(4 * kMiB, 2);
  CHECK(stolen == first);
  CHECK(world.timeline->ordered(2, 1, 1));
  CHECK_FALSE(world.timeline->ordered(2, 1, later));
}

TEST_CASE("points are recorded after so many frees, and the earlier ones asked about then") {
  World world(World::Config{.capacity = 64 * kMiB});
  void* warm = world.pool.allocate(1000, 1);
  // Free for everybody, so that searches find something and nobody asks.
  world.pool.deallocate(world.pool.allocate(50 * kMiB, 2), 2);
  world.timeline->run_all();
  world.pool.trim(60 * kMiB);
  const PoolStats earlier = world.pool.stats();
  for (int i = 0; i < 64 * 10; ++i) {
    world.pool.deallocate(warm, 1);
    warm = world.pool.allocate(1000, 1);
    // Somebody searches for memory.
    if (i % 64 == 0) CHECK(world.pool.allocate(4 * kMiB, 2) != nullptr);
  }
  const PoolStats stats = world.pool.stats();
  CHECK(stats.timeline.records - earlier.timeline.records == 10);
  CHECK(stats.timeline.queries > earlier.timeline.queries);
  CHECK(stats.timeline.queries - earlier.timeline.queries <= 2 * 10);
  CHECK(stats.streams.front().points_recorded == 10);
  // However many frees come while somebody searches, points under way stay bounded.
  for (std::size_t i = 0; i < std::size_t{64} * 200; ++i) {
    world.pool.deallocate(warm, 1);
    warm = world.pool.allocate(1000, 1);
    if (i % 64 == 0) {
      const std::size_t bytes = 4 * kMiB + 512 * (i / 64 % 40);  // more sizes than are parked
      world.pool.deallocate(world.pool.allocate(bytes, 2), 2);
    }
  }
  const std::vector<StreamStats> streams = world.pool.stats().streams;
  CHECK(streams.front().points_recorded == 64);
  CHECK(streams.back().points_recorded <= 8);
  CHECK(world.timeline->live_points() <= 64 + streams.back().points_recorded);
}

TEST_CASE("a free that leaves a handle idle records a point soon") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB});
  std::vector<void*> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  const std::uint64_t before = world.pool.stats().timeline.records;
  for (void* block : blocks) world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().timeline.records == before + 1);
}

TEST_CASE("idle handles move to where a large block needs them") {
  World world(World::Config{.capacity = 16 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  for (std::size_t i = 0; i < 8; i += 2) world.pool.deallocate(blocks[i], 1);
  // Half of the capacity is free, but never more than 2 MiB in one piece.
  void* large = world.pool.allocate(8 * kMiB, 1);
  REQUIRE(large != nullptr);
  CHECK(world.source->accessible(reinterpret_cast<Address>(large), 8 * kMiB));
  CHECK(world.pool.stats().ladder.remap.count == 1);
  CHECK(world.source->calls(SourceCall::unmap) == 4);
  CHECK(world.source->calls(SourceCall::create) == 8);
  CHECK(world.pool.stats().held.current == 16 * kMiB);
  CHECK(world.sound());
}

TEST_CASE("what comes first on a miss is policy") {
  for (const LadderRung first : {LadderRung::map, LadderRung::steal}) {
    World world(World::Config{
        .capacity = 64 * kMiB, .handle_size = 2 * kMiB, .ladder = test::ladder_with(first)});
    work_and_free(world, world.pool.allocate(8 * kMiB, 1), 1);
    (void)world.pool.allocate(8 * kMiB, 2);
    const bool stole = first == LadderRung::steal;
    CHECK(world.pool.stats().ladder.steal.count == (stole ? 1 : 0));
    CHECK(world.pool.stats().held.current == (stole ? 8 : 16) * kMiB);
    // Small blocks too: a page of another stream's rather than a new handle.
    work_and_free(world, world.pool.allocate(5000, 1), 1);
    (void)world.pool.allocate(5000, 2);
    CHECK(world.sound());
  }
}

TEST_CASE("above its soft limit a pool takes and moves before it adds") {
  World world(
      World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB, .soft_limit = 16 * kMiB});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  work_and_free(world, blocks[0], 1);
  (void)world.pool.allocate(2 * kMiB, 2);
  CHECK(world.pool.stats().ladder.steal.count == 1);
  for (const std::size_t i : {1, 3, 5}) work_and_free(world, blocks[i], 1);
  world.pool.trim(64 * kMiB);  // waits for the frees
  (void)world.pool.allocate(6 * kMiB, 2);
  CHECK(world.pool.stats().ladder.remap.count == 1);
  CHECK(world.pool.stats().held.current == 16 * kMiB);
  // Nothing is left to take: now it grows.
  (void)world.pool.allocate(6 * kMiB, 2);
  CHECK(world.pool.stats().held.current == 22 * kMiB);
  CHECK(world.sound());
}

TEST_CASE("under pressure others are asked to give something back, in turn") {
  World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0, .immediate = true});
  void* cache = world.pool.allocate(6 * kMiB, 1);
  std::vector<int> asked;
  world.pool.add_pressure_callback([&](std::size_t bytes) {
    CHECK(bytes >= 4 * kMiB);
    asked.push_back(1);
    return std::size_t{0};
  });
  world.pool.add_pressure_callback([&](std::size_t) -> std::size_t {
    asked.push_back(2);
    if (cache == nullptr) return 0;
    world.pool.deallocate(cache, 1);
    cache = nullptr;
    return 6 * kMiB;
  });
  CHECK(world.pool.allocate(4 * kMiB, 1) != nullptr);
  CHECK(asked == std::vector<int>{1, 2});
  CHECK(world.pool.stats().ladder.callback.count == 1);
  CHECK_THROWS_AS(world.pool.allocate(8 * kMiB, 1), OutOfMemory);
  CHECK(asked.size() == 4);
  CHECK(world.sound());
}

TEST_CASE("the host waits only when nothing else is left, and counts it") {
  World world(World::Config{.capacity = 8 * kMiB});
  void* block = world.pool.allocate(6 * kMiB, 1);
  CHECK(world.pool.record_use(block, 2) == Misuse::none);
  world.timeline->work(2);
  work_and_free(world, block, 1);
  // A block that waits for two streams cannot be stolen.
  CHECK(world.pool.allocate(6 * kMiB, 3) == block);
  CHECK(world.timeline->ordered(3, 2, 1));
  const PoolStats stats = world.pool.stats();
  CHECK(stats.ladder.wait.count == 1);
  CHECK(stats.host_waits >= 1);
  CHECK(world.sound());
}

TEST_CASE("with no time to wait a pending block ends in OutOfMemory and stays whole") {
  World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0});
  void* block = world.pool.allocate(6 * kMiB, 1);
  CHECK(world.pool.record_use(block, 2) == Misuse::none);
  work_and_free(world, block, 1);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 3), OutOfMemory);
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.sound());
}

TEST_CASE("a wait that fails gives the claim back under its old condition") {
  World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0});
  void* block = world.pool.allocate(6 * kMiB, 1);
  work_and_free(world, block, 1);
  world.timeline->fail_waits(1);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
  CHECK(world.pool.stats().pending.current == 6 * kMiB);
  CHECK(world.sound());
  CHECK(world.pool.allocate(6 * kMiB, 2) == block);
  CHECK(world.timeline->ordered(2, 1, 1));
}

TEST_CASE("a record that fails delays the memory and loses nothing") {
  World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0});
  void* block = world.pool.allocate(6 * kMiB, 1);
  work_and_free(world, block, 1);
  world.timeline->fail_records(100);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
  CHECK(world.sound());
  world.timeline->fail_records(0);
  CHECK(world.pool.allocate(6 * kMiB, 2) == block);
  CHECK(world.timeline->ordered(2, 1, 1));
  CHECK(world.sound());
}

TEST_CASE("one stream runs far ahead of its device without a wait, and what it holds settles") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB});
  // Neighbours of many sizes whose frees carry many points serve their own stream as one.
  std::uint64_t settled = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<void*> blocks;
    for (int j = 0; j < 5; ++j) {
      blocks.push_back(world.pool.allocate(std::size_t(1 + (i + j) % 5) * 2 * kMiB, 1));
      world.timeline->work(1);
    }
    for (void* block : blocks) world.pool.deallocate(block, 1);
    if (i == 50) settled = world.pool.stats().held.peak;
  }
  const PoolStats stats = world.pool.stats();
  CHECK(settled <= 40 * kMiB);
  CHECK(stats.held.peak == settled);
  CHECK(stats.host_waits == 0);
  CHECK(stats.timeline.waits == 0);
  CHECK(world.sound());
}

TEST_CASE("a stream that captures does not keep others' memory from being stolen") {
  World world(World::Config{
      .capacity = 8 * kMiB, .slab_max_block = 0, .buddy_max_block = 0, .wait_limit_ms = 0});
  void* captured = world.pool.allocate(3 * kMiB, 1);
  void* other = world.pool.allocate(4 * kMiB, 2);
  work_and_free(world, captured, 1);
  work_and_free(world, other, 2);
  world.timeline->set_capturing(1, true);
  // The captured stream's range fits more tightly, but nobody may wait for it now.
  void* stolen = world.pool.allocate(3 * kMiB, 3);
  CHECK(stolen == other);
  CHECK(world.timeline->ordered(3, 2, 1));
  CHECK(world.timeline->violations().empty());
  CHECK(world.sound());
}

TEST_CASE("blocks that come home to a carrier while the ladder waits serve the request") {
  World world(World::Config{.capacity = 2 * kMiB, .handle_size = 2 * kMiB});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(world.pool.allocate(200 * kKiB, 1));
  // One of the chunk's blocks was freed by another stream too, and waits for both.
  REQUIRE(world.pool.record_use(blocks.back(), 2) == Misuse::none);
  world.timeline->work(2);
  work_and_free(world, blocks.back(), 1);
  CHECK(world.pool.allocate(200 * kKiB, 1) == blocks.back());
  CHECK(world.pool.stats().host_waits > 0);
  CHECK(world.sound());
}

TEST_CASE("above the soft limit idle memory moves before any is added") {
  World world(World::Config{.capacity = 32 * kMiB,
                            .handle_size = 2 * kMiB,
                            .soft_limit = 8 * kMiB,
                            .idle_share = 1,
                            .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  for (std::size_t i = 0; i < 8; i += 2) world.pool.deallocate(blocks[i], 1);
  // Four handles are idle, of the six that are needed.
  (void)world.pool.allocate(12 * kMiB, 1);
  CHECK(world.pool.stats().held.current == 20 * kMiB);
  CHECK(world.sound());
}
