// How often points are recorded, and that nobody misses those that are not.
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

void hits(World& world, int pairs, bool with_work = false) {
  for (int i = 0; i < pairs; ++i) {
    if (with_work) world.timeline->work(1);
    world.pool.deallocate(world.pool.allocate(1000, 1), 1);
  }
}

// A pool of 16 MiB in which another one of 8 MiB fits only where `block` was.
struct Narrow {
  World world;
  void* block;
  explicit Narrow(bool immediate = false)
      : world(World::Config{.capacity = 16 * kMiB,
                            .handle_size = 2 * kMiB,
                            .wait_limit_ms = 100,
                            .immediate = immediate}),
        block(world.pool.allocate(8 * kMiB, 1)) {
    CHECK(world.pool.allocate(6 * kMiB, 3) != nullptr);
    hits(world, 1);
  }
};

}  // namespace

TEST_CASE("while every allocation is a hit, points become rarer; a search makes them frequent") {
  World world(World::Config{.capacity = 64 * kMiB});
  const auto pairs = [&](int count) {
    const std::uint64_t before = world.pool.stats().timeline.records;
    for (int i = 0; i < count; ++i) world.pool.deallocate(world.pool.allocate(1000, 1), 1);
    return world.pool.stats().timeline.records - before;
  };
  CHECK(pairs(64) == 1);  // the first block was searched for
  // 64, then twice as many frees each time, up to 256 × 64.
  CHECK(pairs(64 * (2 + 4 + 8 + 16 + 32 + 64 + 128 + 256)) == 8);
  CHECK(pairs(64 * 256 * 10) == 10);
  world.pool.deallocate(world.pool.allocate(8 * kMiB, 2), 2);
  CHECK(pairs(64) == 1);
  CHECK(pairs(128) == 1);
  CHECK(world.pool.stats().streams.front().misses == 1);
}

TEST_CASE("a stream that hits alone for long gives all it freed to one that misses") {
  World world(World::Config{.capacity = 64 * kMiB, .immediate = true});
  world.pool.deallocate(world.pool.allocate(40 * kMiB, 1), 1);
  for (int i = 0; i < 100'000; ++i) world.pool.deallocate(world.pool.allocate(1000, 1), 1);
  void* large = world.pool.allocate(40 * kMiB, 2);
  CHECK(large != nullptr);
  CHECK(world.pool.stats().streams.back().waits == 0);
  CHECK(world.pool.stats().host_waits == 0);
}

TEST_CASE("a stream that frees much records a point soon, however calm it was") {
  Narrow narrow(true);
  World& world = narrow.world;
  hits(world, 100'000);
  world.pool.deallocate(narrow.block, 1);
  hits(world, 2000);
  // From here on nothing can be recorded on stream 1.
  world.timeline->set_capturing(1, true);
  CHECK(world.pool.allocate(8 * kMiB, 2) != nullptr);
  CHECK(world.timeline->violations().empty());
}

TEST_CASE("what was freed long ago is there without waiting for what came later") {
  for (const int calm : {0, 1000, 5000, 20'000, 100'000}) {
    Narrow narrow;
    World& world = narrow.world;
    hits(world, calm);
    world.timeline->run_all();
    world.pool.deallocate(narrow.block, 1);
    hits(world, 3000, true);
    world.timeline->run(1, 2950);  // the device is 50 operations behind
    SECTION("for a stream") {
      CHECK(world.pool.allocate(8 * kMiB, 2) != nullptr);
      CHECK(world.pool.stats().ladder.steal.count == 0);
      CHECK_FALSE(world.timeline->ordered(2, 1, 3000));
    }
    SECTION("for one that captures, and can neither steal nor wait") {
      (void)world.capture(2);
      CHECK(world.pool.allocate(8 * kMiB, 2) != nullptr);
    }
  }
}

TEST_CASE("after a capture the next point comes soon") {
  World world(World::Config{.immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(world.pool.allocate(1000, 1));
  world.timeline->set_capturing(1, true);
  std::size_t next = 0;
  while (next < 1300) world.pool.deallocate(blocks[next++], 1);
  world.timeline->set_capturing(1, false);
  const std::uint64_t before = world.pool.stats().timeline.records;
  while (next < 1364) world.pool.deallocate(blocks[next++], 1);
  CHECK(world.pool.stats().timeline.records > before);
}

TEST_CASE("blocks that several streams use come back without a miss") {
  World world(World::Config{.capacity = 900 * kMiB, .immediate = true});
  // Much that is mapped and free, so that nobody ever climbs the ladder for want of it.
  world.pool.deallocate(world.pool.allocate(800 * kMiB, 1), 1);
  world.pool.trim(900 * kMiB);
  const auto pairs = [&](int count) {
    for (int i = 0; i < count; ++i) {
      void* block = world.pool.allocate(1000, 1);
      CHECK(world.pool.record_use(block, 2) == Misuse::none);
      world.pool.deallocate(block, 1);
    }
    return world.pool.stats();
  };
  const PoolStats early = pairs(1000);
  const PoolStats late = pairs(100'000);
  CHECK(late.pending.peak <= early.pending.current + 3 * 64 * kKiB + 800 * kMiB);
  CHECK(late.pending.current <= 3 * 64 * kKiB);
  CHECK(late.host_metadata <= early.host_metadata + 64 * kKiB);
  CHECK(world.sound());
}

TEST_CASE("a calm stream records points again when it frees what others use") {
  World world(World::Config{.immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) {
    blocks.push_back(world.pool.allocate(1000, 1));
    CHECK(world.pool.record_use(blocks.back(), 2) == Misuse::none);
  }
  hits(world, 100'000);
  const PoolStats before = world.pool.stats();
  for (void* block : blocks) world.pool.deallocate(block, 1);
  const PoolStats after = world.pool.stats();
  CHECK(after.streams.front().points_recorded >= before.streams.front().points_recorded + 300 / 64);
  CHECK(after.streams.front().misses == before.streams.front().misses);
}

TEST_CASE("giving back down to a limit unmaps no more than that takes") {
  World world(World::Config{.handle_size = 2 * kMiB, .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  for (void* block : blocks) world.pool.deallocate(block, 1);
  for (const std::size_t keep : {190 * kMiB, 150 * kMiB, 10 * kMiB}) {
    world.pool.trim(keep);
    CHECK(world.pool.stats().held.current == keep);
    CHECK(world.pool.stats().mapped.current == keep);
  }
}

TEST_CASE("a block that waits for many streams is looked at once for each") {
  World world(World::Config{.streams = 8});
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(world.pool.allocate(3 * kMiB / 2, 1));
    for (StreamId stream = 2; stream <= 8; ++stream) {
      world.timeline->work(stream);
      CHECK(world.pool.record_use(blocks.back(), stream) == Misuse::none);
    }
    world.pool.deallocate(blocks.back(), 1);
    blocks.back() = world.pool.allocate(3 * kMiB / 2, 1);
    world.pool.deallocate(blocks.back(), 1);
    if (i % 10 == 0) world.timeline->run_all();
    CHECK(world.sound());
  }
  world.timeline->run_all();
  world.pool.trim();
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.pool.stats().pending.current == 0);
}

TEST_CASE("while memory is given back, what stays is there for others") {
  World world(World::Config{.handle_size = 2 * kMiB, .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  for (void* block : blocks) world.pool.deallocate(block, 1);
  std::future<void*> other;
  bool at_once = false;
  world.pool.set_mapping_callback([&](Address, std::size_t, bool mapped) {
    if (mapped || other.valid()) return;
    other = std::async(std::launch::async, [&] { return world.pool.allocate(2 * kMiB, 2); });
    at_once = other.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  });
  CHECK(world.pool.trim(0) == 198 * kMiB);
  CHECK(at_once);
  CHECK(other.get() != nullptr);
  world.pool.set_mapping_callback({});
  CHECK(world.pool.stats().held.current == 2 * kMiB);
  CHECK(world.sound());
}

TEST_CASE("what is on its way out does not count as needed") {
  World world(World::Config{.handle_size = 2 * kMiB, .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  void* odd = world.pool.allocate(3 * kMiB, 2);
  for (void* block : blocks) world.pool.deallocate(block, 1);
  for (int i = 0; i < 2; ++i) world.pool.decay();  // both intervals without the hundred
  bool disturbed = false;
  world.pool.set_mapping_callback([&](Address, std::size_t, bool mapped) {
    if (mapped || disturbed) return;
    disturbed = true;
    std::thread([&] { world.pool.deallocate(odd, 3); }).join();
  });
  CHECK(world.pool.trim(100 * kMiB) > 0);
  CHECK(disturbed);
  world.pool.decay();
  CHECK(world.pool.stats().held.current <= 4 * kMiB);
}

TEST_CASE("retiring a stream that freed guarded blocks does not wait for itself") {
  for (const PoolMode mode : {PoolMode::pooled, PoolMode::passthrough}) {
    World world(World::Config{
        .immediate = true, .mode = mode, .guard_sample = mode == PoolMode::pooled ? 1u : 0u});
    for (int i = 0; i < 10; ++i) {
      world.pool.deallocate(world.pool.allocate(1000, 1), 1);
    }
    CHECK(world.pool.retire_stream(1));
    CHECK(world.pool.allocate(1000, 2) != nullptr);
    world.pool.trim();
    CHECK(world.sound());
  }
}
