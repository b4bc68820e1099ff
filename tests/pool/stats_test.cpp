#include "forebay/pool/stats.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/counted_mutex.hpp"
#include "pool/gauge.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
using forebay::pool::test::busy_stats;
using forebay::pool::test::World;
using nlohmann::json;

namespace {

// The keys that scripts rely on, as an example whose numbers add up.
const char* const kExample = R"({
    "requested": {"current": 9000000, "peak": 30000000, "total": 123000000},
    "allocated": {"current": 9437184, "peak": 31457280, "total": 130023424},
    "pending":   {"current": 2097152, "peak": 4194304},
    "free":      {"current": 5242880, "peak": 20971520},
    "mapped":    {"current": 16777216, "peak": 33554432},
    "idle_handles": {"current": 4194304, "peak": 8388608},
    "held":      {"current": 20971520, "peak": 35651584},
    "capacity": 143223549952, "address_range": 1099511627776, "host_metadata": 1310720,
    "allocations": {"live": 42, "total": 1000, "frees": 958, "failed": 0},
    "fragmentation": {"internal": 0.046, "largest_free": 4194304,
      "free_below": {"2097152": 1048576, "33554432": 5242880, "268435456": 5242880},
      "realized_at_peak": 0.188, "free_ranges_log2": {"20": 1, "22": 1}},
    "slab":  {"mapped": 4194304, "allocated": 3145728, "pages": 2,
      "classes": [{"bytes": 4096, "slots": 1024, "used": 768, "pages": 2}]},
    "buddy": {"mapped": 2097152, "allocated": 1572864, "chunks": 1,
      "orders": [{"bytes": 524288, "free": 1}]},
    "span":  {"mapped": 10485760, "allocated": 4718592, "blocks": 3},
    "streams": [{"id": 7, "allocated": 9437184, "pending": 2097152, "hits": 950, "misses": 50,
      "steals": 2, "points_recorded": 16, "points_queried": 9}],
    "ladder": {"cache": {"count": 950, "us": 60}, "completed": {"count": 20, "us": 30},
      "map": {"count": 25, "us": 1200}, "steal": {"count": 2, "us": 4},
      "remap": {"count": 3, "us": 300}, "trim": {"count": 0, "us": 0},
      "callback": {"count": 0, "us": 0}, "wait": {"count": 0, "us": 0}},
    "driver": {"create": {"count": 8, "us": 144}, "map": {"count": 11, "us": 11},
      "set_access": {"count": 6, "us": 297}, "unmap": {"count": 3, "us": 55},
      "release": {"count": 0, "us": 0}},
    "device_syncs": 0, "host_waits": 0,
    "latency_ns": {"sampled_1_in": 64, "allocate": {"count": 16, "p50": 48, "p99": 210},
      "deallocate": {"count": 15, "p50": 30, "p99": 90}},
    "errors": {"double_free": 0, "interior_pointer": 0, "foreign_pointer": 0, "size_mismatch": 0,
      "wrong_device": 0, "pool_closed": 0}})";

// Every key of `expected` stands in `actual` with the same type; more may stand beside it.
std::string missing(const json& expected, const json& actual, const std::string& path) {
  if (expected.is_number() != actual.is_number() || expected.is_object() != actual.is_object() ||
      expected.is_array() != actual.is_array()) {
    return path + " has another type";
  }
  if (expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (path == "/fragmentation/free_ranges_log2") continue;  // keys are data
      if (!actual.contains(key)) return path + "/" + key + " is missing";
      if (std::string lie = missing(value, actual[key], path + "/" + key); !lie.empty()) {
        return lie;
      }
    }
  }
  if (expected.is_array() && !actual.empty()) return missing(expected[0], actual[0], path + "/0");
  return {};
}

/// Until the clock of the peaks has moved.
void wait_a_tick() {
  const std::int64_t begin = CoarseClock::now();
  while (CoarseClock::now() == begin) std::this_thread::yield();
}

}  // namespace

TEST_CASE("the JSON of a pool has every key of the contract, used or not") {
  const json example = json::parse(kExample);
  CHECK(missing(example, json::parse(to_json(PoolStats{})), "") ==
        "/fragmentation/free_below/2097152 is missing");
  World idle;
  CHECK(missing(example, json::parse(to_json(idle.pool.stats())), "") == "");
  CHECK(missing(example, json::parse(to_json(busy_stats())), "") == "");
}

TEST_CASE("the JSON says what the struct says") {
  const PoolStats stats = busy_stats();
  const json document = json::parse(to_json(stats));
  CHECK(document["requested"]["current"] == stats.requested.current);
  CHECK(document["streams"].size() == 2);
  CHECK(document["slab"]["classes"][0]["used"] == stats.slab.classes[0].used);
  CHECK(document["ladder"]["map"]["count"] == stats.ladder.map.count);
  CHECK(document["driver"]["create"]["us"] == stats.driver.create.us);
  CHECK(stats.driver.create.us == 15 * stats.driver.create.count);
  CHECK(document["fragmentation"]["internal"].get<double>() ==
        Approx(stats.fragmentation.internal).epsilon(1e-5));
  CHECK(stats.fragmentation.internal > 0);
  CHECK(check_identities(stats).empty());
}

TEST_CASE("a peak has the date at which it was reached, whoever asks later") {
  World world(World::Config{.buddy_max_block = 0});
  (void)world.pool.allocate(1100 * kKiB, 1);  // so that the second stream needs more memory
  (void)world.pool.stats();
  wait_a_tick();
  void* block = world.pool.allocate(500 * kKiB, 1);  // too little for the stream to fold at once
  void* small = world.pool.allocate(1000, 1);
  wait_a_tick();
  world.pool.deallocate(block, 1);
  world.pool.deallocate(small, 1);
  (void)world.pool.stats();  // samples what is pending
  wait_a_tick();
  void* less = world.pool.allocate(450 * kKiB, 2);
  wait_a_tick();
  const PoolStats stats = world.pool.stats();
  CHECK(check_identities(stats).empty());
  CHECK(stats.requested.peak_at_s > 0);
  CHECK(stats.requested.peak_at_s < stats.pending.peak_at_s);
  CHECK(stats.allocated.peak_at_s == Approx(stats.requested.peak_at_s).margin(1e-9));
  CHECK(stats.pending.peak_at_s < stats.age_s);
  CHECK(stats.pending.peak_at_s < stats.held.peak_at_s);  // the second stream added memory
  CHECK(stats.held.peak_at_s < stats.age_s);
  CHECK(json::parse(to_json(stats))["held"]["peak_at_s"].get<double>() ==
        Approx(stats.held.peak_at_s));
  world.pool.deallocate(less, 2);
  // The peak itself and its date stay.
  CHECK(world.pool.stats().requested.peak_at_s == stats.requested.peak_at_s);
}

TEST_CASE("merged peaks have the later date, and ranges of two pools stay apart") {
  PoolStats one = busy_stats(1000);
  PoolStats two = one;
  one.age_s = 50;
  one.held.peak_at_s = 30;
  one.requested.peak_at_s = 7;
  two.age_s = 40;
  two.held.peak_at_s = 20;
  two.requested.peak_at_s = 9;
  merge(one, two);
  CHECK(one.age_s == 50);
  CHECK(one.held.peak_at_s == 30);
  CHECK(one.requested.peak_at_s == 9);
  CHECK(one.map.size() == 2 * two.map.size());
  CHECK(check_identities(one).empty());
}

TEST_CASE("merging adds, keeps the larger, and joins classes of the same size") {
  PoolStats one = busy_stats();
  const PoolStats two = busy_stats();
  const Count requested = one.requested.current;
  const std::size_t classes = one.slab.classes.size();
  const Count used = one.slab.classes[0].used;
  merge(one, two);
  CHECK(one.requested.current == 2 * requested);
  CHECK(one.streams.size() == 4);
  CHECK(one.slab.classes.size() == classes);
  CHECK(one.slab.classes[0].used == 2 * used);
  CHECK(one.fragmentation.largest_free == two.fragmentation.largest_free);
  CHECK(one.fragmentation.internal == Approx(two.fragmentation.internal));
  CHECK(one.latency_ns.sampled_1_in == 64);
  CHECK(check_identities(one).empty());
  CHECK(one.driver_calls() == 2 * two.driver_calls());
  CHECK(one.driver_us() == 2 * two.driver_us());
}

TEST_CASE("what is free lies in ranges, in somebody's pages, or at the ends of pages") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB});
  std::mt19937 random(3);
  std::vector<void*> live;
  bool stranded = false, tails = false, ranges = false;
  for (int i = 0; i < 4000; ++i) {
    const StreamId stream = 1 + random() % 3;
    if (live.size() < 100 || (live.size() < 400 && random() % 2 == 0)) {
      live.push_back(
          world.pool.allocate(1 + random() % (std::size_t{1} << (random() % 19)), stream));
    } else {
      std::swap(live[random() % live.size()], live.back());
      world.pool.deallocate(live.back(), stream);
      live.pop_back();
    }
    if (random() % 16 == 0) world.timeline->run(1 + random() % 3);
    const PoolStats stats = world.pool.stats();
    REQUIRE(check_identities(stats).empty());
    Count sum = stats.fragmentation.free_in_ranges + stats.slab.tails;
    for (const StreamStats& of : stats.streams) {
      sum += of.stranded;
      stranded |= of.stranded > 0;
    }
    tails |= stats.slab.tails > 0;
    ranges |= stats.fragmentation.free_in_ranges > 0;
    REQUIRE(sum == stats.free.current);
    for (const auto& [bytes, share] : stats.fragmentation.external_for) {
      REQUIRE(share * static_cast<double>(stats.fragmentation.free_in_ranges) ==
              Approx(static_cast<double>(stats.fragmentation.free_below.at(bytes))));
    }
  }
  CHECK(stranded);
  CHECK(tails);
  CHECK(ranges);
}

TEST_CASE("external fragmentation is told for several sizes of request") {
  // Free ranges of 1, 1, 10 and 40 MiB.
  PoolStats stats;
  FragmentationStats& found = stats.fragmentation;
  found.largest_free = 40 * kMiB;
  found.free_in_ranges = 52 * kMiB;
  found.free_below = {{2 * kMiB, 2 * kMiB}, {32 * kMiB, 12 * kMiB}, {256 * kMiB, 52 * kMiB}};
  derive(stats);
  CHECK(found.external == Approx(12.0 / 52));
  CHECK(found.external_for.at(2 * kMiB) == Approx(2.0 / 52));
  CHECK(found.external_for.at(32 * kMiB) == Approx(12.0 / 52));
  CHECK(found.external_for.at(256 * kMiB) == 1);
  // Two pools together: the longest range of either is among the free ones of both.
  const PoolStats other = stats;
  merge(stats, other);
  CHECK(found.external == Approx(64.0 / 104));
  CHECK(found.external_for.at(32 * kMiB) == Approx(24.0 / 104));
  CHECK(FragmentationStats{}.external == 0);
}

TEST_CASE("granules are told by how much of them is in use") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  CHECK(world.pool.detailed_stats().fragmentation.granule_occupancy.empty());
  void* a = world.pool.allocate(4 * kMiB, 1);             // two granules
  void* b = world.pool.allocate(2 * kMiB + kMiB / 2, 1);  // one and a quarter
  CHECK(world.pool.stats().fragmentation.granule_occupancy.empty());
  CHECK(world.pool.detailed_stats().fragmentation.granule_occupancy ==
        Histogram{{20, 1}, {100, 3}});
  world.pool.deallocate(a, 1);
  CHECK_THROWS_AS(world.pool.allocate(65 * kMiB, 1), forebay::OutOfMemory);
  void* c = world.pool.allocate(2 * kMiB + kMiB, 1);
  CHECK(world.sound());
  Count granules = 0;
  const PoolStats stats = world.pool.detailed_stats();
  for (const auto& [percent, count] : stats.fragmentation.granule_occupancy) granules += count;
  CHECK(granules * 2 * kMiB == stats.mapped.current);
  world.pool.deallocate(b, 1);
  world.pool.deallocate(c, 1);
}

TEST_CASE(
    "every miss is timed, and waiting for another stream is counted with the one that waits") {
  World world(World::Config{.capacity = 16 * kMiB});
  for (int i = 0; i < 100; ++i) world.pool.deallocate(world.pool.allocate(100, 1), 1);
  PoolStats stats = world.pool.stats();
  CHECK(stats.miss_path.count == 1);
  CHECK(stats.latency_ns.miss.count == 1);
  CHECK(stats.latency_ns.miss.max > 0);
  CHECK(stats.latency_ns.miss.p50 <= stats.latency_ns.miss.p999);
  CHECK(stats.driver.create.max_us == 15);
  void* block = world.pool.allocate(12 * kMiB, 1);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  (void)world.pool.allocate(12 * kMiB, 2);
  stats = world.pool.stats();
  for (const StreamStats& of : stats.streams) CHECK(of.waits == (of.id == 2 ? 1 : 0));
  CHECK(stats.miss_path.count == 3);
}

TEST_CASE("waiting for a lock is counted") {
  CountedMutex mutex;
  CHECK(mutex.waits().count == 0);
  std::thread other;
  {
    const std::lock_guard lock(mutex);
    CHECK_FALSE(mutex.try_lock());
    std::atomic<bool> there{false};
    other = std::thread([&] {
      there = true;
      const std::lock_guard again(mutex);
    });
    while (!there) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  other.join();
  CHECK(mutex.waits().count == 1);
  CHECK(mutex.waits().us > 0);
}

TEST_CASE("a counted mutex lets one thread in at a time, and wakes every one that waits") {
  CountedMutex mutex;
  std::uint64_t sum = 0;  // mutex
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const std::lock_guard lock(mutex);
        ++sum;
        if (i % 1000 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == 160'000);
  CHECK(mutex.try_lock());
}

TEST_CASE("latencies are sampled, of allocations as of frees") {
  World world;
  REQUIRE(world.pool.config().latency_sample == 64);
  for (int i = 0; i < 64 * 1000; ++i) world.pool.deallocate(world.pool.allocate(100, 1), 1);
  const LatencyStats latency = world.pool.stats().latency_ns;
  // In a loop of pairs one count to 64 over both kinds would always end at the same kind.
  for (const PercentileStats& of : {latency.allocate, latency.deallocate}) {
    CHECK(of.count >= 900);
    CHECK(of.count <= 1100);
    CHECK(of.p50 <= of.p99);
  }
}
