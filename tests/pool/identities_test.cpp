#include <functional>
#include <string>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("the statistics of a pool that was tampered with do not add up") {
  World world;
  (void)world.pool.allocate(5000, 1);
  PoolStats stats = world.pool.stats();
  CHECK(check_identities(stats).empty());
  stats.free.current += 512;
  CHECK(check_identities(stats).find("allocated + pending + free = mapped") == 0);
  stats = world.pool.stats();
  stats.requested.current = stats.allocated.current + 1;
  CHECK(check_identities(stats).find("requested <= allocated") == 0);
  stats = world.pool.stats();
  stats.streams.front().pending += 1;
  CHECK(check_identities(stats).find("pending of streams") == 0);
}

TEST_CASE("a peak has its date, within the age of the pool") {
  World world;
  void* block = world.pool.allocate(5000, 1);
  const PoolStats stats = world.pool.stats();
  CHECK(check_identities(stats).empty());
  const auto lie = [&stats](const std::function<void(PoolStats&)>& change) {
    PoolStats changed = stats;
    changed.age_s = 5;
    change(changed);
    return check_identities(changed);
  };
  CHECK(lie([](PoolStats&) {}).empty());
  CHECK(lie([](PoolStats& of) { of.held.peak_at_s = 5.001; }).find("held cannot") == 0);
  CHECK(lie([](PoolStats& of) { of.requested.peak_at_s = -1; }).find("requested cannot") == 0);
  CHECK(lie([](PoolStats& of) { of.pending.peak_at_s = 1; }).find("pending cannot") == 0);
  // From before peaks had dates.
  CHECK(lie([](PoolStats& of) { of.age_s = 0, of.held.peak_at_s = 1; }).empty());
  world.pool.deallocate(block, 1);
}

TEST_CASE("a map that is whole has every byte in it") {
  World world;
  (void)world.pool.allocate(5000, 1);
  (void)world.pool.allocate(5 * kMiB, 1);
  world.pool.deallocate(world.pool.allocate(300 * kKiB, 2), 2);
  const PoolStats stats = world.pool.detailed_stats(100);
  REQUIRE(stats.map.size() >= 3);
  CHECK(check_identities(stats).empty());
  for (std::size_t i = 0; i < stats.map.size(); ++i) {
    INFO(i);
    PoolStats changed = stats;
    changed.map[i].bytes += 512;
    CHECK_FALSE(check_identities(changed).empty());
    changed = stats;
    changed.map[i].allocated += 512;
    CHECK(check_identities(changed).find("allocated of the map") == 0);
    changed = stats;
    changed.map[i].pending += 512;
    CHECK(check_identities(changed).find("pending of the map") == 0);
    changed = stats;
    changed.map[i].client = "cache";
    CHECK_FALSE(check_identities(changed).empty());
    changed.map_left_out = 1;
    CHECK(check_identities(changed).empty());
  }
}
