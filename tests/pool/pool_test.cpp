#include "forebay/pool/pool.hpp"

#include <cstring>
#include <random>
#include <vector>

#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("a block is accessible memory, aligned, and reusable at once on its stream") {
  World world;
  void* first = world.pool.allocate(1000, 1);
  REQUIRE(first != nullptr);
  CHECK(reinterpret_cast<Address>(first) % kMinAlignment == 0);
  CHECK(world.source->accessible(reinterpret_cast<Address>(first), 1000));
  world.pool.deallocate(first, 1, 1000);
  CHECK(world.pool.allocate(1000, 1) == first);
  CHECK(world.sound());
}

TEST_CASE("nothing is allocated for no bytes, and freeing null does nothing") {
  World world;
  CHECK(world.pool.allocate(0, 1) == nullptr);
  CHECK(world.pool.try_deallocate(nullptr, 1) == Misuse::none);
  CHECK(world.pool.stats().allocations.total == 0);
}

TEST_CASE("alignments up to a granule and beyond are kept") {
  World world;
  for (const std::size_t alignment :
       {1u, 256u, 512u, 4096u, 65536u, 1u << 20, 1u << 21, 1u << 23}) {
    for (const std::size_t bytes : {1u, 300u, 5000u, 70'000u, 900'000u, 3'000'000u}) {
      AllocateOptions options;
      options.alignment = alignment;
      void* block = world.pool.allocate(bytes, 1, options);
      INFO("alignment " << alignment << ", bytes " << bytes);
      CHECK(reinterpret_cast<Address>(block) % alignment == 0);
      CHECK(world.source->accessible(reinterpret_cast<Address>(block), bytes));
      CHECK(world.sound());
    }
  }
  AllocateOptions odd;
  odd.alignment = 768;
  CHECK_THROWS_AS(world.pool.allocate(10, 1, odd), Error);
}

TEST_CASE("memory freed on one stream goes to another only after a dependency") {
  World world(World::Config{.capacity = 8 * kMiB});
  void* block = world.pool.allocate(6 * kMiB, 1);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().pending.current == 6 * kMiB);
  void* stolen = world.pool.allocate(6 * kMiB, 2);
  CHECK(stolen == block);
  CHECK(world.timeline->ordered(2, 1, 1));
  const PoolStats stats = world.pool.stats();
  CHECK(stats.ladder.steal.count == 1);
  CHECK(stats.timeline.waits == 1);
  CHECK(stats.host_waits == 0);
  CHECK(world.sound());
}

TEST_CASE("memory whose point has passed is everybody's without a wait") {
  World world(World::Config{.capacity = 8 * kMiB});
  void* block = world.pool.allocate(6 * kMiB, 1);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  (void)world.pool.allocate(6 * kMiB, 1);
  CHECK(world.pool.stats().ladder.completed.count == 0);
  world.pool.deallocate(block, 1);
  CHECK_THROWS_AS(world.pool.allocate(9 * kMiB, 2), OutOfMemory);
  // The next miss records a point on the idle stream and learns that it has passed.
  world.timeline->run_all();
  SECTION("the block itself") {
    CHECK(world.pool.allocate(6 * kMiB, 2) == block);
    CHECK(world.timeline->ordered(2, 1, 1));
  }
  CHECK(world.sound());
}

TEST_CASE("a large block spans many handles and neighbours share the granule at their border") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB});
  auto* a = static_cast<char*>(world.pool.allocate(5 * kMiB + 512, 1));
  auto* b = static_cast<char*>(world.pool.allocate(7 * kMiB - 512, 1));
  CHECK(b == a + 5 * kMiB + 512);
  CHECK(world.pool.stats().held.current == 12 * kMiB);
  CHECK(world.source->handles() == 6);
  CHECK(world.sound());
}

TEST_CASE("close gives everything back and says what was still alive") {
  World world;
  (void)world.pool.allocate(3000, 1, {.tag = "weights"});
  {
    const AllocationScope scope("adam.moments");
    (void)world.pool.allocate(5 * kMiB, 1);
    (void)world.pool.allocate(100, 1);
  }
  world.pool.close();
  CHECK(world.source->handles() == 0);
  CHECK(world.source->reservations() == 0);
  CHECK(world.source->violations().empty());
  CHECK(world.logged("3 live blocks"));
  CHECK(world.logged("adam.moments: 2 blocks, 5242980 bytes"));
  CHECK(world.logged("weights: 1 blocks, 3000 bytes"));
  CHECK(check_identities(world.pool.stats()).empty());
  CHECK(world.pool.stats().held.current == 0);
  CHECK_THROWS_AS(world.pool.allocate(10, 1), ClosedError);
  world.pool.close();
}

TEST_CASE("every configuration that cannot work is named") {
  const auto refused = [](World::Config config, const std::string& key) {
    try {
      const World world(config);
    } catch (const ConfigError& error) {
      return std::string(error.what()).find(key) != std::string::npos;
    }
    return false;
  };
  CHECK(refused({.capacity = kMiB}, "/pool/capacity"));
  CHECK(refused({.capacity = 8 * kMiB, .handle_size = 16 * kMiB}, "/pool/handle_size"));
  CHECK(refused({.capacity = 8 * kMiB, .address_range = 4 * kMiB}, "/pool/address_range"));
  CHECK(refused({.slab_max_block = kMiB}, "/pool/slab/max_block"));
  CHECK(refused({.buddy_max_block = 4 * kMiB}, "/pool/buddy/max_block"));
}

TEST_CASE("no addresses, no pool") {
  auto source = std::make_shared<SimulatedSource>(SimulatedSource::Options{});
  source->fail(SourceCall::reserve, 1, false);
  CHECK_THROWS_AS(Pool(source, std::make_shared<SimulatedTimeline>(), {}), DriverError);
}

TEST_CASE("a pool may be made of regions where there is virtual memory") {
  World world(World::Config{.immediate = true, .backing = PoolBacking::malloc});
  CHECK(world.pool.config().backing == PoolBacking::malloc);
  CHECK(world.pool.config().address_range == 0);
  void* small = world.pool.allocate(1000, 1);
  void* large = world.pool.allocate(50 * kMiB, 1);
  CHECK(world.source->reservations() == 0);
  CHECK(world.source->handles() == 0);
  CHECK(world.source->regions() == 2);
  CHECK(world.source->accessible(reinterpret_cast<Address>(large), 50 * kMiB));
  CHECK(world.pool.stats().device_syncs == 0);
  world.pool.deallocate(large, 1);
  world.pool.deallocate(small, 1);
  world.pool.trim();
  CHECK(world.source->regions() == 0);
  CHECK(world.pool.stats().device_syncs == 2);  // what it costs to give a region back
  CHECK(world.sound());
}

TEST_CASE("a source without virtual memory makes a pool of regions") {
  const World world(World::Config{.virtual_memory = false});
  CHECK(world.pool.config().backing == PoolBacking::malloc);
}

TEST_CASE("regions cannot be exported") {
  const auto refusal = [](const PoolConfig& config, bool virtual_memory) -> std::string {
    try {
      const Pool pool(std::make_shared<SimulatedSource>(
                          SimulatedSource::Options{.virtual_memory = virtual_memory}),
                      std::make_shared<SimulatedTimeline>(), config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  PoolConfig config;
  config.export_as = PoolExport::fd;
  CHECK(refusal(config, true).empty());
  const std::string line =
      "/pool/export: must be \"none\" for memory that comes in regions, which have no handles";
  CHECK(refusal(config, false) == line);
  config.backing = PoolBacking::malloc;
  CHECK(refusal(config, true) == line);
  config.backing = PoolBacking::vmm;
  config.mode = PoolMode::passthrough;
  CHECK(refusal(config, true) == line);
}
