#include "forebay/pool/stats.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
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

PoolStats busy() {
  World world;
  std::vector<void*> blocks;
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 3 * kMiB, std::size_t{2000}}) {
    blocks.push_back(world.pool.allocate(bytes, 1));
    blocks.push_back(world.pool.allocate(bytes, 2));
  }
  for (std::size_t i = 0; i < blocks.size(); i += 3) world.pool.deallocate(blocks[i], 1 + i % 2);
  return world.pool.stats();
}

}  // namespace

TEST_CASE("the JSON of a pool has every key of the contract, used or not") {
  const json example = json::parse(kExample);
  CHECK(missing(example, json::parse(to_json(PoolStats{})), "") ==
        "/fragmentation/free_below/2097152 is missing");
  World idle;
  CHECK(missing(example, json::parse(to_json(idle.pool.stats())), "") == "");
  CHECK(missing(example, json::parse(to_json(busy())), "") == "");
}

TEST_CASE("the JSON says what the struct says") {
  const PoolStats stats = busy();
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

TEST_CASE("the lines of the table add up") {
  std::istringstream lines(to_table(busy()));
  // Of each column of numbers: the terms since the last sum, by line.
  unsigned long long first = 0, second = 0;
  unsigned sums = 0;
  bool heading = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      heading = true;
      first = second = 0;
      continue;
    }
    const std::string title = line.substr(0, 24);
    if (heading) {
      heading = false;
      continue;
    }
    const char sign = line[0];
    std::istringstream numbers(line.substr(25));
    unsigned long long a = 0, b = 0;
    numbers >> a >> b;
    INFO(line);
    if (sign == '=') {
      CHECK(first == a);
      ++sums;
    } else if (sign == ' ') {
      first = second = 0;
    }
    first = sign == '=' ? a : first + a;
    second += b;
  }
  CHECK(sums == 8);
}

TEST_CASE("merging adds, keeps the larger, and joins classes of the same size") {
  PoolStats one = busy();
  const PoolStats two = busy();
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

TEST_CASE("latencies are sampled") {
  World world;
  for (int i = 0; i < 64 * 50; ++i) world.pool.deallocate(world.pool.allocate(100, 1), 1);
  const LatencyStats latency = world.pool.stats().latency_ns;
  CHECK(latency.allocate.count + latency.deallocate.count == 100);
  CHECK(latency.allocate.p50 <= latency.allocate.p99);
}
