#include <map>
#include <random>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::World;

namespace {

/// The range in which a pointer lies.
MapRange range_of(const PoolStats& stats, const void* pointer) {
  const auto at = reinterpret_cast<Count>(pointer);
  for (const MapRange& range : stats.map) {
    if (range.address <= at && at < range.address + range.bytes) return range;
  }
  return {};
}

/// Empty, or what is wrong: a range on another, a sum that does not hold, a hole in the ranges.
std::string wrong_with(const PoolStats& stats) {
  Count end = 0, bytes = 0;
  bool handles = false;
  for (const MapRange& range : stats.map) {
    if (range.client == "handle") {
      handles = true;
      continue;
    }
    if (handles) return "idle handles are not last";
    if (range.address < end) return "ranges overlap or are not in order";
    if (range.allocated + range.pending > range.bytes) return "a range holds more than it has";
    end = range.address + range.bytes;
    bytes += range.bytes;
  }
  if (stats.map_left_out == 0 && bytes != stats.mapped.current) return "not all is in the map";
  return check_identities(stats);
}

}  // namespace

TEST_CASE("ordinary statistics have an empty map") {
  World world;
  (void)world.pool.allocate(5000, 1);
  CHECK(world.pool.stats().map.empty());
  CHECK(world.pool.detailed_stats().map.empty());
  CHECK(world.pool.detailed_stats().map_left_out == 0);
}

TEST_CASE("each kind of range is told with its client, state and stream") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB});
  void* small = world.pool.allocate(1000, 1);
  void* middle = world.pool.allocate(200 * kKiB, 2);
  void* large = world.pool.allocate(5 * kMiB, 3);
  void* parked = world.pool.allocate(3 * kMiB, 1);
  void* shared = world.pool.allocate(4 * kMiB, 1);
  world.timeline->work(2);
  CHECK(world.pool.record_use(shared, 2) == Misuse::none);
  world.pool.deallocate(shared, 1);
  world.pool.deallocate(parked, 1);
  const PoolStats stats = world.pool.detailed_stats(1000);
  CHECK(wrong_with(stats) == "");
  CHECK(stats.map_left_out == 0);
  const auto is = [&stats](const void* pointer, const char* client, const char* state,
                           StreamId stream) {
    const MapRange range = range_of(stats, pointer);
    CHECK(range.client == client);
    CHECK(range.state == state);
    CHECK(range.stream == stream);
    return range;
  };
  const MapRange page = is(small, "slab", "used", 1);
  CHECK(page.allocated == 1024);
  CHECK(page.pending == 0);
  CHECK(is(middle, "buddy", "used", 2).allocated == 256 * kKiB);
  CHECK(is(large, "span", "used", 3).allocated == 5 * kMiB);
  CHECK(is(parked, "span", "pending", 1).pending == 3 * kMiB);
  CHECK(is(shared, "span", "pending", 1).pending == 4 * kMiB);
}

TEST_CASE("free ranges, pages with nothing in use, and idle handles are told") {
  World world(World::Config{.capacity = 16 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  void* small = world.pool.allocate(1000, 1);
  void* a = world.pool.allocate(4 * kMiB, 1);
  void* b = world.pool.allocate(2 * kMiB, 1);
  world.pool.deallocate(small, 1);
  world.pool.deallocate(a, 1);
  CHECK(range_of(world.pool.detailed_stats(100), small).state == "pending");
  world.pool.trim(~std::size_t{0});  // learns that all of it has passed
  PoolStats stats = world.pool.detailed_stats(100);
  CHECK(wrong_with(stats) == "");
  const MapRange freed = range_of(stats, a);
  CHECK(freed.state == "free");
  CHECK(freed.client == "span");
  CHECK(freed.stream == 0);
  CHECK(range_of(stats, b).state == "used");

  // Unmapped by the ladder, and more than it could give back.
  world.source->fail(SourceCall::release, 1, true);
  world.pool.trim(0);
  stats = world.pool.detailed_stats(100);
  CHECK(wrong_with(stats) == "");
  REQUIRE(stats.idle_handles.current > 0);
  REQUIRE(stats.map.back().client == "handle");
  CHECK(stats.map.back().state == "idle");
  CHECK(stats.map.back().address == 0);
  CHECK(stats.map.back().bytes == 2 * kMiB);
}

TEST_CASE("a map is as long as was asked for at most, and says what it leaves out") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB});
  for (int i = 0; i < 10; ++i) (void)world.pool.allocate(3 * kMiB, 1 + i % 2);
  const PoolStats whole = world.pool.detailed_stats(100);
  REQUIRE(whole.map.size() >= 10);
  const PoolStats part = world.pool.detailed_stats(4);
  CHECK(part.map.size() == 4);
  CHECK(part.map_left_out == whole.map.size() - 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(part.map[i].address == whole.map[i].address);
  CHECK(check_identities(part).empty());
}

TEST_CASE("the map adds up whatever happens, in every mode") {
  const auto config = GENERATE(0, 1, 2, 3);
  World world(World::Config{.capacity = 64 * kMiB,
                            .handle_size = config == 1 ? 0 : 2 * kMiB,
                            .virtual_memory = config != 1,
                            .mode = config == 2 ? PoolMode::passthrough : PoolMode::pooled,
                            .backing = config == 1 ? PoolBacking::malloc : PoolBacking::vmm,
                            .tools = config == 3,
                            .guard_sample = config == 3 ? 8u : 0u});
  std::mt19937 random(7);
  struct Live {
    void* pointer;
    StreamId stream;
  };
  std::vector<Live> live;
  std::map<std::string, int> seen;
  for (int i = 0; i < by_build(3000, 1000, 300); ++i) {
    const StreamId stream = 1 + random() % 3;
    if (live.size() < 60 || (live.size() < 120 && random() % 2 == 0)) {
      try {
        live.push_back(
            {world.pool.allocate(1 + random() % (std::size_t{1} << (random() % 22)), stream),
             stream});
      } catch (const forebay::OutOfMemory&) {
      }
    }
    if (live.size() > 40 && random() % 2 == 0) {
      std::swap(live[random() % live.size()], live.back());
      if (random() % 4 == 0) (void)world.pool.record_use(live.back().pointer, stream);
      world.pool.deallocate(live.back().pointer, random() % 3 == 0 ? stream : live.back().stream);
      live.pop_back();
    }
    world.timeline->work(stream);
    if (random() % 8 == 0) world.timeline->run(stream);
    if (random() % 500 == 0) world.pool.trim(8 * kMiB);
    const PoolStats stats = world.pool.detailed_stats(100'000);
    INFO("operation " << i << " of configuration " << config);
    REQUIRE(wrong_with(stats) == "");
    for (const MapRange& range : stats.map) ++seen[range.client + " " + range.state];
  }
  CHECK(seen["span used"] > 0);
  CHECK(seen["span pending"] > 0);
  if (config == 2) return;
  CHECK(seen["slab used"] > 0);
  CHECK(seen["slab pending"] > 0);
  CHECK(seen["buddy used"] > 0);
  CHECK(seen["span free"] > 0);
}
