// How memory is added, and moved, for blocks that fit nowhere.
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

constexpr std::size_t kHandle = 2 * kMiB;

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// Blocks of one handle each on stream 1, one after the other.
std::vector<void*> fill(World& world, std::size_t count) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(world.pool.allocate(kHandle, 1));
  return blocks;
}

}  // namespace

TEST_CASE("the idle handles at the highest addresses move first, and no more than are missing") {
  World world(World::Config{.capacity = 10 * kHandle, .handle_size = kHandle, .immediate = true});
  const std::vector<void*> blocks = fill(world, 10);
  for (const std::size_t i : {1, 3, 5, 7}) world.pool.deallocate(blocks[i], 1);
  void* large = world.pool.allocate(2 * kHandle, 1);
  CHECK(world.source->accessible(address_of(large), 2 * kHandle));
  CHECK(world.source->accessible(address_of(blocks[1]), kHandle));
  CHECK(world.source->accessible(address_of(blocks[3]), kHandle));
  CHECK_FALSE(world.source->accessible(address_of(blocks[5]), kHandle));
  CHECK_FALSE(world.source->accessible(address_of(blocks[7]), kHandle));
  const PoolStats stats = world.pool.stats();
  CHECK(stats.ladder.remap.count == 1);
  CHECK(stats.driver.create.count == 10);
  CHECK(stats.driver.unmap.count == 2);
  CHECK(stats.driver.release.count == 0);
  CHECK(world.sound());
}

TEST_CASE("a hole between idle handles is filled rather than a new place opened") {
  World world(World::Config{.capacity = 10 * kHandle, .handle_size = kHandle, .immediate = true});
  std::vector<void*> blocks = fill(world, 10);
  for (const std::size_t i : {2, 6}) world.pool.deallocate(blocks[i], 1);
  void* pair = world.pool.allocate(2 * kHandle, 1);  // both handles move behind the others
  CHECK(world.source->calls(SourceCall::unmap) == 2);
  for (const std::size_t i : {1, 3}) world.pool.deallocate(blocks[i], 1);
  world.pool.deallocate(blocks[9], 1);
  // Blocks 1 and 3 around the hole of 2: one more handle makes three.
  void* three = world.pool.allocate(3 * kHandle, 1);
  CHECK(three == blocks[1]);
  CHECK(world.source->calls(SourceCall::unmap) == 3);
  world.pool.deallocate(pair, 1);
  CHECK(world.sound());
}

TEST_CASE("a pool far below its capacity moves what is idle instead of holding more") {
  for (const double share : {0.0, 0.3, 1.0}) {
    INFO("idle_share " << share);
    PoolConfig config;
    config.capacity = 1024 * kHandle;
    config.handle_size = kHandle;
    config.growth_step = 0;
    config.idle_share = share;
    auto source =
        std::make_shared<SimulatedSource>(SimulatedSource::Options{.total = std::size_t{8} << 30});
    auto timeline = std::make_shared<SimulatedTimeline>(true);
    timeline->add_stream(1);
    Pool pool(source, timeline, config);
    std::vector<void*> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(pool.allocate(kHandle, 1));
    // A quarter of it is free, in pieces.
    for (int i = 0; i < 20; i += 4) pool.deallocate(blocks[i], 1);
    (void)pool.allocate(3 * kHandle, 1);
    const PoolStats stats = pool.stats();
    CHECK(stats.held.current == (share < 0.25 ? 20 : 23) * kHandle);
    CHECK(stats.driver.unmap.count == (share < 0.25 ? 3 : 0));
    CHECK(check_identities(stats) == "");
  }
}

TEST_CASE("regions do not move: idle ones are kept while there is capacity") {
  World world(World::Config{.capacity = 1024 * kHandle,
                            .handle_size = kHandle,
                            .immediate = true,
                            .virtual_memory = false,
                            .device = std::size_t{8} << 30});
  const std::vector<void*> blocks = fill(world, 20);
  for (std::size_t i = 0; i < 20; i += 4) world.pool.deallocate(blocks[i], 1);
  (void)world.pool.allocate(3 * kHandle, 1);
  // Freeing one would wait for the whole device.
  CHECK(world.source->calls(SourceCall::free_region) == 0);
  CHECK(world.pool.stats().held.current == 23 * kHandle);
  CHECK(world.sound());
}

TEST_CASE("growing by a share of what is held costs few calls however long it goes on") {
  const auto calls = [](double step) {
    World world(World::Config{
        .capacity = 1024 * kMiB, .handle_size = kHandle, .growth_step = step, .immediate = true});
    for (int i = 0; i < 400; ++i) (void)world.pool.allocate(kHandle, 1);
    CHECK(world.sound());
    CHECK(world.pool.stats().held.current <=
          static_cast<std::uint64_t>(400 * (1 + step)) * kHandle);
    return world.source->calls(SourceCall::set_access);
  };
  CHECK(calls(0) == 400);
  CHECK(calls(0.1) < 60);
}

TEST_CASE("a small program on a large device grows once") {
  World world(World::Config{.capacity = std::size_t{128} << 30,
                            .growth_step = 0.03,
                            .immediate = true,
                            .device = std::size_t{128} << 30});
  std::vector<void*> blocks;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 10; ++i) blocks.push_back(world.pool.allocate(kHandle, 1));
    for (void* block : blocks) world.pool.deallocate(block, 1);
    blocks.clear();
    (void)world.pool.allocate(200 * kKiB, 1);
  }
  CHECK(world.source->calls(SourceCall::set_access) == 1);
  CHECK(world.pool.stats().held.current == 64 * kMiB);
}

TEST_CASE("mappings are told after they are made and before they go") {
  World world(World::Config{.capacity = 6 * kHandle, .handle_size = kHandle, .immediate = true});
  std::map<Address, std::size_t> known;
  world.pool.set_mapping_callback([&](Address address, std::size_t bytes, bool mapped) {
    // Told while there is access, both times.
    CHECK(world.source->accessible(address, bytes));
    for (std::size_t at = 0; at < bytes; at += kHandle) {
      if (mapped) {
        CHECK(known.emplace(address + at, kHandle).second);
      } else {
        CHECK(known.erase(address + at) == 1);
      }
    }
  });
  const std::vector<void*> blocks = fill(world, 6);
  for (const std::size_t i : {0, 2, 4}) world.pool.deallocate(blocks[i], 1);
  void* large = world.pool.allocate(3 * kHandle, 1);
  CHECK(known.size() == 6);
  CHECK(known.count(address_of(large) + 2 * kHandle) == 1);
  world.source->fail(SourceCall::unmap, 1, false);
  world.pool.deallocate(large, 1);
  world.pool.trim();
  CHECK(known.size() * kHandle == world.pool.stats().mapped.current);
  // Whoever comes later is told of all there is.
  std::size_t bytes = 0;
  world.pool.set_mapping_callback([&](Address, std::size_t size, bool) { bytes += size; });
  CHECK(bytes == world.pool.stats().mapped.current);
  world.pool.set_mapping_callback({});
  CHECK(world.sound());
}

TEST_CASE("decay gives back what was not needed since the call before the last") {
  World world(World::Config{.capacity = 64 * kHandle, .handle_size = kHandle, .immediate = true});
  for (void* block : fill(world, 20)) world.pool.deallocate(block, 1);
  CHECK(world.pool.decay() == 0);  // needed in this interval
  for (void* block : fill(world, 5)) world.pool.deallocate(block, 1);
  CHECK(world.pool.decay() == 0);  // … in the one before
  CHECK(world.pool.decay() == 15 * kHandle);
  CHECK(world.pool.decay() == 5 * kHandle);
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.sound());
}

TEST_CASE("some of the device's memory stays free for others") {
  World world(World::Config{.capacity = 20 * kHandle,
                            .handle_size = kHandle,
                            .headroom = 4 * kHandle,
                            .wait_limit_ms = 0,
                            .immediate = true,
                            .device = 10 * kHandle});
  (void)fill(world, 6);
  CHECK_THROWS_AS(world.pool.allocate(kHandle, 1), forebay::OutOfMemory);
  CHECK(world.source->free_bytes() == 4 * kHandle);
  CHECK(world.sound());
}

TEST_CASE("the last of the capacity is given in granules") {
  World world(World::Config{.capacity = 14 * kMiB, .handle_size = 4 * kMiB, .immediate = true});
  // Three handles of 4 MiB and what is left for one of 2.
  void* all = world.pool.allocate(14 * kMiB, 1);
  CHECK(world.source->accessible(address_of(all), 14 * kMiB));
  CHECK(world.pool.stats().driver.create.count == 4);
  world.pool.deallocate(all, 1);
  // A block that is longer by a granule than whole handles.
  (void)world.pool.allocate(4 * kMiB, 1);
  (void)world.pool.allocate(10 * kMiB, 1);
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.sound());
}

TEST_CASE("whichever call fails while memory moves, nothing is lost and what was stays usable") {
  for (const SourceCall call : {SourceCall::unmap, SourceCall::map, SourceCall::set_access}) {
    for (std::uint64_t nth = 1; nth <= 3; ++nth) {
      for (const bool for_ever : {false, true}) {
        INFO("call " << static_cast<int>(call) << ", nth " << nth << ", for ever " << for_ever);
        World world(World::Config{.capacity = 8 * kHandle,
                                  .handle_size = kHandle,
                                  .wait_limit_ms = 0,
                                  .immediate = true});
        std::vector<void*> blocks = fill(world, 8);
        for (std::size_t i = 0; i < 8; i += 2) world.pool.deallocate(blocks[i], 1);
        world.source->fail(call, nth, for_ever);
        void* large = nullptr;
        try {
          large = world.pool.allocate(3 * kHandle, 1);
        } catch (const forebay::OutOfMemory&) {
        }
        CHECK(world.sound());
        world.source->fail(call, 0, false);
        if (large == nullptr) large = world.pool.allocate(3 * kHandle, 1);
        CHECK(world.source->accessible(address_of(large), 3 * kHandle));
        for (std::size_t i = 1; i < 8; i += 2) {
          CHECK(world.source->accessible(address_of(blocks[i]), kHandle));
        }
        CHECK(world.sound());
      }
    }
  }
}

TEST_CASE("pending memory does not move, nor does another stream's") {
  World world(World::Config{.capacity = 6 * kHandle, .handle_size = kHandle, .wait_limit_ms = 0});
  const std::vector<void*> blocks = fill(world, 6);
  for (const std::size_t i : {0, 2, 4}) {
    world.timeline->work(1);
    world.pool.deallocate(blocks[i], 1);
  }
  CHECK_THROWS_AS(world.pool.allocate(3 * kHandle, 1), forebay::OutOfMemory);
  CHECK(world.source->calls(SourceCall::unmap) == 0);
  world.timeline->run_all();
  CHECK(world.pool.allocate(3 * kHandle, 1) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("a region that gives way to a larger one makes room beside the headroom") {
  World world(World::Config{.capacity = 64 * kMiB,
                            .handle_size = 2 * kMiB,
                            .headroom = 32 * kMiB,
                            .immediate = true,
                            .virtual_memory = false,
                            .device = 40 * kMiB});
  std::vector<void*> blocks;
  for (int i = 0; i < 2; ++i) blocks.push_back(world.pool.allocate(4 * kMiB, 1));
  for (void* block : blocks) world.pool.deallocate(block, 1);
  CHECK(world.pool.allocate(8 * kMiB, 1) != nullptr);
  CHECK(world.source->free_bytes() == 32 * kMiB);
  CHECK(world.sound());
}

TEST_CASE("regions serve aligned blocks or refuse them, and never try for ever") {
  for (unsigned seed = 80; seed < 90; ++seed) {
    std::mt19937 random(seed);
    World world(World::Config{.capacity = (5 + random() % 20) * 2 * kMiB,
                              .immediate = true,
                              .backing = PoolBacking::malloc});
    std::vector<void*> blocks;
    for (int i = 0; i < 4000; ++i) {
      const StreamId stream = 1 + random() % 4;
      if (random() % 2 == 0) {
        const std::size_t most = std::size_t{64 * kKiB} << random() % 7;
        try {
          blocks.push_back(world.pool.allocate(1 + random() % most, stream,
                                               {.alignment = random() % 4 == 0 ? 2 * kMiB : 256}));
        } catch (const forebay::OutOfMemory&) {
        }
      } else if (!blocks.empty()) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        world.pool.deallocate(blocks.back(), stream);
        blocks.pop_back();
      }
    }
    CHECK(world.sound());
  }
}

TEST_CASE("a capacity beyond the device's memory makes no growth larger than the device does") {
  World world(World::Config{
      .capacity = std::size_t{1} << 47, .handle_size = 2 * kMiB, .growth_step = 0.03});
  CHECK(world.pool.allocate(3 * kMiB, 1) != nullptr);
  CHECK(world.pool.stats().held.current <= 8 * kMiB);
}

TEST_CASE("with an idle share of 0 idle memory moves before any is added, however much is held") {
  World world(World::Config{
      .capacity = 40 * kMiB, .handle_size = kHandle, .idle_share = 0, .immediate = true});
  std::vector<void*> blocks = fill(world, 15);
  for (std::size_t i = 0; i < 15; i += 2) world.pool.deallocate(blocks[i], 1);
  CHECK(world.pool.allocate(8 * kMiB, 1) != nullptr);
  CHECK(world.pool.stats().held.current == 30 * kMiB);
  CHECK(world.pool.stats().ladder.remap.count == 1);
}
