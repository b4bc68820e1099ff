// What is given back while the host has no memory is not lost.
#include "pool/postponed.hpp"

#include <new>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/host_memory.hpp"
#include "tests/pool/rich.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::enrich;
using forebay::pool::test::ScarceMemory;
using forebay::pool::test::World;

namespace {

/// Every way in which memory comes back, on a pool of which `config` says what it is. Only the
/// calls that must not fail run in scarce memory; what they refuse is asked for again afterwards.
class Scenario {
 public:
  Scenario(const World::Config& config, ScarceMemory& memory) : world_(config), memory_(memory) {
    enrich(world_);
  }

  void run() {
    // A slab's, a buddy's and spans.
    constexpr std::size_t kScarceSizes[] = {700, 300 * kKiB, 1100 * kKiB};
    for (int round = 0; round < 2; ++round) {
      std::vector<void*> own, foreign, shared;
      for (const std::size_t bytes : kScarceSizes) {
        for (int i = 0; i < 3; ++i) own.push_back(world_.pool.allocate(bytes, 1));
        for (int i = 0; i < 9; ++i) foreign.push_back(world_.pool.allocate(bytes, 1));
        shared.push_back(world_.pool.allocate(bytes, 1));
      }
      for (void* block : shared) use(block, 2), use(block, 3);
      for (void* block : own) free(block, 1);
      for (void* block : foreign) free(block, 2);  // of which the pool may not know yet
      for (void* block : shared) free(block, 1);
      capture();
      world_.timeline->run_all();
      retire(2);
      memory_.of_action([&] { trim(); });
    }
  }

  /// With memory again, everything is as if there always had been some.
  void settle() {
    world_.timeline->run_all();
    world_.pool.trim();
    REQUIRE(world_.sound());
    const PoolStats stats = world_.pool.stats();
    CHECK(stats.allocations.live == 0);
    CHECK(stats.requested.current == 0);
    for (StreamId stream = 1; stream <= 3; ++stream) CHECK(world_.pool.retire_stream(stream));
    world_.pool.trim();
    CHECK(world_.pool.stats().held.current == 0);
    REQUIRE(world_.sound());
  }

 private:
  void free(void* block, StreamId stream) {
    memory_.of_action([&] { world_.pool.deallocate(block, stream); });
  }
  void use(void* block, StreamId stream) {
    const Misuse misuse = memory_.of_action([&] { return world_.pool.record_use(block, stream); });
    if (misuse == Misuse::none) return;
    REQUIRE(misuse == Misuse::no_host_memory);
    REQUIRE(world_.pool.record_use(block, stream) == Misuse::none);
  }
  void retire(StreamId stream) {
    if (memory_.of_action([&] { return world_.pool.retire_stream(stream); })) return;
    REQUIRE(memory_.failed());
    REQUIRE(world_.pool.retire_stream(stream));
  }
  void trim() {
    try {
      world_.pool.trim();
    } catch (const std::bad_alloc&) {  // it may say so; it may lose nothing
    }
  }
  // Blocks of an arena that another stream frees, and the end of the arena with some in it.
  void capture() {
    const ArenaId arena = world_.pool.begin_capture(1);
    std::vector<void*> blocks;
    for (const std::size_t bytes : {std::size_t{900}, 200 * kKiB, 2 * kMiB}) {
      for (int i = 0; i < 2; ++i) blocks.push_back(world_.pool.allocate(bytes, 1));
    }
    memory_.of_action([&] { world_.pool.end_capture(1); });
    for (std::size_t i = 0; i < blocks.size(); ++i) free(blocks[i], 1 + i % 2);
    memory_.of_action([&] { world_.pool.drop_arena(arena); });
  }

  World world_;
  ScarceMemory& memory_;
};

/// Each allocation of the scenario fails, one a run (in a sanitised build, some of them). Returns
/// how many there are.
std::uint64_t fail_each(const World::Config& config, bool for_ever) {
  for (std::uint64_t nth = 1;; nth += by_build(1, 5, 20)) {
    INFO("allocation " << nth << (for_ever ? " and all after it fail" : " fails"));
    ScarceMemory memory(nth, for_ever);
    Scenario scenario(config, memory);
    scenario.run();
    scenario.settle();
    if (!memory.failed()) return nth - 1;
  }
}

}  // namespace

TEST_CASE("no free is lost when the host has no memory for its books") {
  const World::Config plain{.point_every_frees = 4};
  World::Config regions = plain, passthrough = plain, watched = plain, recorded = plain;
  regions.virtual_memory = false;
  passthrough.mode = PoolMode::passthrough;
  watched.tools = watched.fill = true;
  watched.canary = 64;
  watched.quarantine = 100 * kKiB;
  watched.guard_sample = 5;
  recorded.trace_ring_bytes = 4096;
  for (const World::Config& config : {plain, regions, passthrough, watched, recorded}) {
    for (const bool for_ever : {false, true}) CHECK(fail_each(config, for_ever) > 20);
  }
}

TEST_CASE("frees that found no memory are live until they are made up for, and not for ever many") {
  World world;
  constexpr std::size_t kMany = PostponedFrees::kMost + 3;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kMany; ++i) blocks.push_back(world.pool.allocate(3 * kKiB, 1));
  ScarceMemory memory(1, true);
  std::size_t refused = 0;
  for (void* block : blocks) {
    // A stream that the pool does not know yet.
    const Misuse misuse = memory.of_action([&] { return world.pool.try_deallocate(block, 2); });
    REQUIRE((misuse == Misuse::none || misuse == Misuse::no_host_memory));
    if (misuse == Misuse::no_host_memory) blocks[refused++] = block;
  }
  CHECK(refused == 3);
  CHECK(world.pool.stats().allocations.live == kMany);
  CHECK(world.pool.stats().errors.no_host_memory == 3);
  for (std::size_t i = 0; i < refused; ++i) {
    CHECK(world.pool.try_deallocate(blocks[i], 2) == Misuse::none);
  }
  CHECK(world.pool.stats().allocations.live == 0);
  CHECK(world.sound());
}

TEST_CASE("a stream is not retired while frees on it are to be made up for") {
  World world;
  void* block = world.pool.allocate(3 * kKiB, 1);
  world.pool.deallocate(world.pool.allocate(1, 1), 1);
  ScarceMemory memory(1, true);
  CHECK(memory.of_action([&] { return world.pool.try_deallocate(block, 2); }) == Misuse::none);
  CHECK_FALSE(memory.of_action([&] { return world.pool.retire_stream(2); }));
  CHECK(world.pool.retire_stream(2));
  CHECK(world.pool.stats().allocations.live == 0);
  CHECK(world.sound());
}

TEST_CASE("a free that is made up for into quarantine is out of it when its stream is retired") {
  World world(World::Config{.tools = true, .quarantine = 100 * kKiB});
  void* block = world.pool.allocate(3 * kKiB, 1);
  ScarceMemory memory(1, true);
  CHECK(memory.of_action([&] { return world.pool.try_deallocate(block, 2); }) == Misuse::none);
  REQUIRE(world.pool.stats().debug.quarantined_blocks == 0);
  CHECK(world.pool.retire_stream(2));
  world.timeline->remove_stream(2);
  CHECK(world.pool.stats().debug.quarantined_blocks == 0);
  CHECK(world.pool.stats().allocations.live == 0);
  CHECK(world.sound());
}

TEST_CASE("frees that were never made up for end with their pool") {
  World world(World::Config{.on_misuse = MisusePolicy::abort});
  void* first = world.pool.allocate(3 * kKiB, 1);
  void* second = world.pool.allocate(3 * kKiB, 1);
  ScarceMemory memory(1, true);
  memory.of_action([&] {
    (void)world.pool.try_deallocate(first, 2);
    world.pool.close();
  });
  CHECK(world.pool.try_deallocate(second, 1) == Misuse::pool_closed);
  CHECK(world.pool.stats().errors.pool_closed == 1);
}

TEST_CASE("damage is told once, whatever the free of the block lacks") {
  for (std::uint64_t nth = 1;; ++nth) {
    INFO("allocation " << nth << " fails");
    World world(World::Config{.mode = PoolMode::passthrough, .tools = true, .canary = 64});
    enrich(world);
    void* block = world.pool.allocate(1000, 1);
    world.tools->poke(block, 1000, 0);
    ScarceMemory memory(nth, false);
    const Misuse misuse = memory.of_action([&] { return world.pool.try_deallocate(block, 1); });
    CHECK((misuse == Misuse::none || misuse == Misuse::buffer_overrun));
    world.timeline->run_all();
    world.pool.trim();
    const PoolStats stats = world.pool.stats();
    // Unless there was no memory to look for it.
    CHECK(stats.errors.buffer_overrun + stats.debug.unchecked == 1);
    CHECK(stats.allocations.live == 0);
    CHECK(world.sound());
    if (!memory.failed()) break;
  }
}

TEST_CASE("each postponed free comes back once, and has its place until then") {
  PostponedFrees frees;
  PostponedFrees::Free free;
  PostponedFrees::Place at = 0;
  CHECK(frees.empty());
  CHECK_FALSE(frees.take(&at, &free));
  int block = 0;
  for (std::size_t lap = 0; lap < 3; ++lap) {
    for (std::size_t i = 0; i < PostponedFrees::kMost; ++i) REQUIRE(frees.add({&block, i, lap}));
    CHECK_FALSE(frees.add({&block, 0, 0}));
    CHECK(frees.any_of(5));
    CHECK_FALSE(frees.any_of(PostponedFrees::kMost));
    at = 0;
    for (std::size_t i = 0; i < PostponedFrees::kMost; ++i, ++at) {
      REQUIRE(frees.take(&at, &free));
      REQUIRE(free.stream == i);
      REQUIRE(free.bytes == lap);
      // Nobody else gets it, nor its place.
      PostponedFrees::Place same = at;
      CHECK((!frees.take(&same, &free) || same > at));
      if (same > at && same < PostponedFrees::kMost) frees.put(same, {&block, same, lap});
      CHECK_FALSE(frees.hold().has_value());
      CHECK(frees.any_of(i));
      frees.put(at, {&block, i, lap});
    }
    CHECK(frees.size() == PostponedFrees::kMost);
    for (at = 0; frees.take(&at, &free); ++at) frees.drop(at);
    CHECK(frees.empty());
    CHECK_FALSE(frees.any_of(5));
  }
}
