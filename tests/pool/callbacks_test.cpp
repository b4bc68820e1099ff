// What callbacks may do, and what they may not break.
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("a mapping callback that throws is logged and breaks nothing") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  void* first = world.pool.allocate(10 * kMiB, 1);
  for (const bool when_mapped : {true, false}) {
    world.pool.set_mapping_callback([when_mapped](Address, std::size_t, bool mapped) {
      if (mapped == when_mapped) throw std::runtime_error("no");
    });
    void* block = world.pool.allocate(20 * kMiB, 1);
    CHECK(block != nullptr);
    world.pool.deallocate(block, 1);
    CHECK(world.pool.trim() > 0);
    CHECK(world.sound());
  }
  world.pool.set_mapping_callback([](Address, std::size_t, bool) { throw 1; });
  world.pool.deallocate(first, 1);
  world.pool.trim();
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.pool.allocate(60 * kMiB, 2) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("a pressure callback that allocates is not asked again for that") {
  World world(World::Config{.capacity = 8 * kMiB, .immediate = true});
  void* kept = world.pool.allocate(6 * kMiB, 1);
  unsigned asked = 0, refused = 0;
  world.pool.add_pressure_callback([&](std::size_t) -> std::size_t {
    ++asked;
    try {
      world.pool.deallocate(world.pool.allocate(7 * kMiB, 2), 2);
    } catch (const OutOfMemory&) {
      ++refused;
    }
    return 0;
  });
  CHECK_THROWS_AS(world.pool.allocate(4 * kMiB, 1), OutOfMemory);
  CHECK(asked == 1);
  CHECK(refused == 1);
  world.pool.deallocate(kept, 1);
  CHECK(world.pool.allocate(7 * kMiB, 1) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("what a pressure callback throws reaches whoever allocates, and nothing is lost") {
  World world(World::Config{.capacity = 8 * kMiB, .immediate = true});
  void* kept = world.pool.allocate(6 * kMiB, 1);
  world.pool.add_pressure_callback(
      [](std::size_t) -> std::size_t { throw std::runtime_error("mine"); });
  CHECK_THROWS_WITH(world.pool.allocate(4 * kMiB, 1), "mine");
  CHECK_THROWS_WITH(world.pool.allocate(4 * kMiB, 1), "mine");
  world.pool.deallocate(kept, 1);
  CHECK(world.pool.allocate(7 * kMiB, 1) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("a pool that lacks a part, and an empty callback, are refused") {
  World world;
  CHECK_THROWS_WITH(world.pool.add_pressure_callback({}), "pool: an empty pressure callback");
  CHECK_THROWS_WITH(Pool(nullptr, world.timeline, {}), "pool: no memory source");
  CHECK_THROWS_WITH(Pool(world.source, nullptr, {}), "pool: no timeline");
  PoolConfig config;
  config.trace_ring_bytes = ~std::size_t{0};
  CHECK_THROWS_AS(Pool(world.source, world.timeline, config), ConfigError);
}
