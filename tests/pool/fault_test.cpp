// Every call of the source and the timeline failing at its n-th time, once and from then on.
#include <random>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::Shadow;
using forebay::pool::test::World;

namespace {

struct Fault {
  SourceCall call;
  std::uint64_t nth;
  bool for_ever;
  Outcome outcome;
};

// A program that maps, frees, moves and trims; whatever fails, nothing may be lost.
void survive(const Fault& fault, bool virtual_memory, PoolMode mode) {
  World world(World::Config{.capacity = 24 * kMiB,
                            .handle_size = 2 * kMiB,
                            .wait_limit_ms = 50,
                            .virtual_memory = virtual_memory,
                            .mode = mode,
                            .streams = 3});
  Shadow shadow(*world.timeline);
  world.source->fail(fault.call, fault.nth, fault.for_ever, fault.outcome);
  std::mt19937 random(17);
  std::vector<std::pair<void*, StreamId>> blocks;
  for (int i = 0; i < 120; ++i) {
    const StreamId stream = 1 + random() % 3;
    if (random() % 5 < 3) {
      const std::size_t bytes =
          random() % 3 == 0 ? 1 + random() % (6 * kMiB) : 1 + random() % (300 * kKiB);
      try {
        void* block = world.pool.allocate(bytes, stream);
        REQUIRE(world.source->accessible(reinterpret_cast<Address>(block), bytes));
        REQUIRE(shadow.take(reinterpret_cast<Address>(block), bytes, stream) == "");
        blocks.emplace_back(block, stream);
      } catch (const OutOfMemory&) {
      }
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      shadow.give(reinterpret_cast<Address>(blocks.back().first));
      REQUIRE(world.pool.try_deallocate(blocks.back().first, blocks.back().second) == Misuse::none);
      blocks.pop_back();
    }
    world.timeline->run(1 + random() % 3, random() % 4);
    if (i % 40 == 39) world.pool.trim(8 * kMiB);
    REQUIRE(world.sound());
  }
  world.source->fail(fault.call, 0, false);
  for (const auto& [block, stream] : blocks) world.pool.deallocate(block, stream);
  world.pool.trim();
  REQUIRE(world.sound());
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.source->handles() + world.source->regions() == 0);
  // And it works as before.
  CHECK(world.pool.allocate(5 * kMiB, 1) != nullptr);
  world.pool.close();
  CHECK(world.source->handles() + world.source->regions() + world.source->reservations() == 0);
  CHECK(world.source->violations().empty());
}

void survive_all(const std::vector<SourceCall>& calls, bool virtual_memory, PoolMode mode) {
  for (const SourceCall call : calls) {
    for (const bool for_ever : {false, true}) {
      for (const Outcome outcome : {Outcome::failed, Outcome::out_of_memory}) {
        for (const std::uint64_t nth : {1, 2, 3, 4, 6, 9, 14, 30}) {
          if (nth > by_build(30U, 30U, 4U)) break;
          INFO("call " << static_cast<int>(call) << ", nth " << nth << ", for ever " << for_ever);
          survive({call, nth, for_ever, outcome}, virtual_memory, mode);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("every call on virtual memory may fail at its n-th time") {
  survive_all({SourceCall::create, SourceCall::map, SourceCall::set_access, SourceCall::unmap,
               SourceCall::release},
              true, PoolMode::pooled);
}

TEST_CASE("every call on regions may fail at its n-th time") {
  survive_all({SourceCall::allocate_region, SourceCall::free_region}, false, PoolMode::pooled);
}

TEST_CASE("every call in passthrough may fail at its n-th time") {
  survive_all({SourceCall::allocate_region, SourceCall::free_region}, true, PoolMode::passthrough);
}

TEST_CASE("access that fails and an unmap that fails too leave memory that comes back later") {
  World world(World::Config{.capacity = 24 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  world.source->fail(SourceCall::set_access, 1, true);
  world.source->fail(SourceCall::unmap, 1, true);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 1), OutOfMemory);
  CHECK(world.sound());
  CHECK(world.source->mappings() > 0);
  world.source->fail(SourceCall::set_access, 0, false);
  world.source->fail(SourceCall::unmap, 0, false);
  CHECK(world.pool.allocate(20 * kMiB, 1) != nullptr);
  CHECK(world.sound());
  world.pool.close();
  CHECK(world.source->handles() == 0);
}

TEST_CASE("records and waits that fail delay memory and never hand it on early") {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    World world(World::Config{.capacity = 24 * kMiB, .wait_limit_ms = 20});
    Shadow shadow(*world.timeline);
    std::mt19937 random(seed);
    std::vector<std::pair<void*, StreamId>> blocks;
    for (int i = 0; i < 1000; ++i) {
      if (random() % 10 == 0) world.timeline->fail_records(random() % 5);
      if (random() % 10 == 0) world.timeline->fail_waits(random() % 3);
      const StreamId stream = 1 + random() % 4;
      const std::size_t bytes = 1 + random() % (2 * kMiB);
      try {
        void* block = world.pool.allocate(bytes, stream);
        REQUIRE(shadow.take(reinterpret_cast<Address>(block), bytes, stream) == "");
        blocks.emplace_back(block, stream);
      } catch (const OutOfMemory&) {
      }
      if (blocks.size() > 12) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        shadow.give(reinterpret_cast<Address>(blocks.back().first));
        REQUIRE(world.pool.try_deallocate(blocks.back().first, blocks.back().second) ==
                Misuse::none);
        blocks.pop_back();
      }
      world.timeline->run(1 + random() % 4, random() % 3);
      if (i % 10 == 0) REQUIRE(world.sound());
    }
  }
}
