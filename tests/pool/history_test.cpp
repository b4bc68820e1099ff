// No cost grows with history: what a pool keeps is what the live blocks alone explain.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/host_memory.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::host_allocations;
using forebay::pool::test::World;

TEST_CASE("a hit allocates nothing on the host") {
  World world;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{3000}, 60 * kKiB, 100 * kKiB, kMiB, 3 * kMiB}) {
    INFO("blocks of " << bytes);
    std::vector<void*> blocks(16);
    const auto round = [&] {
      for (void*& block : blocks) block = world.pool.allocate(bytes, 1);
      for (void* block : blocks) world.pool.deallocate(block, 1, bytes);
    };
    round();
    round();
    const std::uint64_t misses = world.pool.stats().streams.front().misses;
    const std::uint64_t records = world.pool.stats().timeline.records;
    const std::uint64_t before = host_allocations;
    for (int i = 0; i < 3; ++i) round();
    const std::uint64_t after = host_allocations;
    // Only the simulated timeline allocates, when a point is recorded.
    const std::uint64_t recorded = world.pool.stats().timeline.records - records;
    CHECK(recorded <= 3 * 16 / 8);
    CHECK(after - before <= recorded * 8);
    CHECK(world.pool.stats().streams.front().misses == misses);
  }
}

TEST_CASE("a pair on one stream allocates nothing, and its points become rarer and rarer") {
  World world;
  world.pool.deallocate(world.pool.allocate(1000, 1), 1);
  PoolStats earlier = world.pool.stats();
  // Frees from one point to the next: 64, then twice as many each time, 256 times 64 at most.
  std::uint64_t done = 1;
  const auto pairs = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i, ++done) {
      world.pool.deallocate(world.pool.allocate(1000, 1), 1);
    }
  };
  for (int point = 0; point < 12; ++point) {
    INFO("point " << point << ", after " << done << " frees");
    const std::uint64_t apart = std::uint64_t{64} << std::min(point, 8);
    std::uint64_t before = host_allocations;
    pairs(apart - (point == 0 ? 2 : 1));
    CHECK(host_allocations == before);
    CHECK(world.pool.stats().timeline.records == earlier.timeline.records);
    CHECK(world.pool.stats().timeline.queries == earlier.timeline.queries);
    // Only the simulated timeline allocates, when a point is recorded; the two questions are for
    // the newest of the points before it and the oldest.
    before = host_allocations;
    pairs(1);
    CHECK(host_allocations - before <= 8);
    const PoolStats stats = world.pool.stats();
    CHECK(stats.timeline.records == earlier.timeline.records + 1);
    CHECK(stats.timeline.queries <= earlier.timeline.queries + 2);
    CHECK(stats.streams.front().hits == done - 1);
    earlier = stats;
  }
}

TEST_CASE("after ten million operations every structure is what the live blocks alone explain") {
  constexpr long kOperations = by_build(10'000'000L, 1'000'000L, 200'000L);
  World world(World::Config{.capacity = 512 * kMiB, .immediate = true});
  std::mt19937 random(1);
  struct Block {
    void* pointer;
    StreamId stream;
  };
  std::vector<Block> blocks;
  struct Structure {
    Count held, extents, pages, chunks, spans, live, pending, idle, metadata;
  };
  std::vector<Structure> empty, small;
  const auto structure = [&] {
    const PoolStats stats = world.pool.stats();
    return Structure{stats.held.current,    stats.span.extents,         stats.slab.pages,
                     stats.buddy.chunks,    stats.span.blocks,          stats.allocations.live,
                     stats.pending.current, stats.idle_handles.current, stats.host_metadata};
  };
  const auto allocate = [&] {
    const std::size_t bytes = random() % 50 == 0   ? 1 + random() % (2 * kMiB)
                              : random() % 10 == 0 ? 1 + random() % (200 * kKiB)
                                                   : 1 + random() % (4 * kKiB);
    const StreamId stream = 1 + random() % 4;
    blocks.push_back({world.pool.allocate(bytes, stream), stream});
    if (random() % 10 == 0) (void)world.pool.record_use(blocks.back().pointer, 1 + random() % 4);
  };
  const auto free = [&] {
    std::swap(blocks[random() % blocks.size()], blocks.back());
    const StreamId stream = random() % 8 == 0 ? 1 + random() % 4 : blocks.back().stream;
    world.pool.deallocate(blocks.back().pointer, stream);
    blocks.pop_back();
  };
  for (int phase = 0; phase < 10; ++phase) {
    while (blocks.size() < 1000) allocate();
    for (long i = 0; i < kOperations / 20; ++i) {
      allocate();
      free();
    }
    while (!blocks.empty()) free();
    world.pool.trim();
    empty.push_back(structure());
    REQUIRE(world.sound());
    // The same live set after each phase.
    std::vector<Block> set;
    for (std::size_t i = 0; i < 500; ++i) {
      const std::size_t bytes = i % 50 == 0   ? 2 * kMiB + i * 512
                                : i % 10 == 0 ? 150 * kKiB
                                              : 8 * i + 1;
      set.push_back({world.pool.allocate(bytes, 1 + i % 4), 1 + i % 4});
    }
    small.push_back(structure());
    REQUIRE(world.sound());
    for (const Block& block : set) world.pool.deallocate(block.pointer, block.stream);
  }
  for (const Structure& now : small) {
    CHECK(now.live == 500);
    CHECK(now.spans == 10);
    CHECK(now.held == small.front().held);
    CHECK(now.extents == small.front().extents);
    CHECK(now.pages == small.front().pages);
    CHECK(now.chunks == small.front().chunks);
    CHECK(now.pending == 0);
    CHECK(now.metadata <= small.front().metadata * 5 / 4);
  }
  for (const Structure& now : empty) {
    CHECK(now.held == 0);
    CHECK(now.extents == 1);
    CHECK(now.pages == 0);
    CHECK(now.chunks == 0);
    CHECK(now.live == 0);
    CHECK(now.idle == 0);
  }
  // Records are kept for use again: their number is bounded by the most that ever lived at once.
  CHECK(empty.back().metadata <= empty.front().metadata * 5 / 4);
  CHECK(world.timeline->live_points() <= 4 * 64);
  CHECK(world.pool.stats().allocations.total >= static_cast<Count>(kOperations / 2));
}

// Blocks that several streams used wait for all of them; that nobody lacks memory must not make
// them pile up.
TEST_CASE("with memory to spare, blocks that several streams used come back all the same") {
  World world(World::Config{.capacity = 512 * kMiB, .immediate = true});
  world.pool.deallocate(world.pool.allocate(400 * kMiB, 1), 1);
  std::mt19937 random(2);
  std::vector<std::pair<void*, StreamId>> blocks;
  Count pending = 0, early = 0, late = 0;
  constexpr unsigned kOperations = 400'000;
  for (unsigned i = 0; i < kOperations; ++i) {
    const StreamId stream = 1 + random() % 4;
    const std::size_t bytes = random() % 100 == 0 ? 100 * kKiB : 1 + random() % (4 * kKiB);
    blocks.emplace_back(world.pool.allocate(bytes, stream), stream);
    if (i % 10 == 0) {
      REQUIRE(world.pool.record_use(blocks.back().first, 1 + stream % 4) == Misuse::none);
    }
    if (blocks.size() < 200) continue;
    std::swap(blocks[random() % blocks.size()], blocks.back());
    world.pool.deallocate(blocks.back().first, blocks.back().second);
    blocks.pop_back();
    if (i % 1000 != 0) continue;
    const PoolStats stats = world.pool.stats();
    pending = std::max(pending, stats.pending.current);
    (i < kOperations / 4 ? early : late) = stats.host_metadata;
  }
  REQUIRE(world.sound());
  // In flight is what was freed since the last point: of four streams, at most 64 × 256 frees each,
  // a tenth of them of blocks that others used, of 3 KiB in the mean.
  CHECK(pending <= 4 * 64 * 256 / 10 * 3 * kKiB + 8 * kMiB);
  CHECK(late <= early * 5 / 4);
  for (const auto& [block, stream] : blocks) world.pool.deallocate(block, stream);
}

TEST_CASE("streams that come and go leave nothing behind") {
  World world(World::Config{.capacity = 128 * kMiB, .immediate = true, .streams = 0});
  std::vector<Count> metadata;
  for (StreamId stream = 1; stream <= 2000; ++stream) {
    world.timeline->add_stream(stream);
    void* small = world.pool.allocate(1000, stream);
    void* large = world.pool.allocate(3 * kMiB, stream);
    world.pool.deallocate(small, stream);
    world.pool.deallocate(large, stream);
    world.pool.retire_stream(stream);
    world.timeline->remove_stream(stream);
    if (stream % 1000 == 0) metadata.push_back(world.pool.stats().host_metadata);
  }
  CHECK(metadata[0] == metadata[1]);
  const PoolStats stats = world.pool.stats();
  CHECK(stats.streams.size() <= 1);
  CHECK(stats.allocations.total == 4000);
  CHECK(stats.held.peak <= 6 * kMiB);
  CHECK(world.sound());
}
