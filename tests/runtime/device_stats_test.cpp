#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "forebay/runtime/runtime.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/fake_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace forebay;
using nlohmann::json;

namespace {

json read(const char* file) {
  std::ifstream stream(std::string(FOREBAY_SOURCE_DIR) + file);
  REQUIRE(stream.is_open());
  return json::parse(stream);
}

bool valid(const json& document, const test::Schema& schema) {
  const std::string complaints = schema.complaints(document.dump());
  if (!complaints.empty()) UNSCOPED_INFO(complaints);
  return complaints.empty();
}

bool valid(const json& document) {
  static const test::Schema schema(read("/configs/forebay.stats.schema.json").dump());
  return valid(document, schema);
}

bool valid_leaks(const json& document) {
  static const test::Schema schema(read("/configs/forebay.leaks.schema.json").dump());
  return valid(document, schema);
}

/// Every place that the schema describes and the document lacks; "[]" stands for a list without an
/// example.
void lacking(const json& schema, json at, const json& document, const std::string& path,
             std::string& out) {
  if (at.contains("allOf")) at = at["allOf"][0];
  if (at.contains("$ref")) {
    at = schema.at(json::json_pointer(at["$ref"].get<std::string>().substr(1)));
  }
  if (document.is_array() && at.contains("items")) {
    if (document.empty()) out += path + "[] ";
    for (const json& item : document) lacking(schema, at["items"], item, path + "[]", out);
  }
  const json properties = at.value("properties", json::object());
  for (const auto& [name, below] : properties.items()) {
    if (!document.contains(name)) {
      out += path + "/" + name + " ";
    } else {
      lacking(schema, below, document[name], path + "/" + name, out);
    }
  }
}

// Whether the schema describes each field of the statistics as what it is.
class SchemaWalk {
 public:
  explicit SchemaWalk(const json& schema) : schema_(schema) {}

  template <typename Struct>
  void walk(const json& at, const std::string& path) {
    std::set<std::string> fields;
    const json properties = resolved(at).value("properties", json::object());
    Struct::each_field(
        [&](const char* name, pool::Merge, const auto& field) {
          fields.insert(name);
          if (!properties.contains(name)) {
            wrong += path + "/" + name + " ";
          } else {
            check(properties[name], path + "/" + name, field);
          }
        },
        kEmpty<Struct>);
    for (const auto& [name, of] : properties.items()) {
      if (fields.count(name) == 0) wrong += path + "/" + name + "(unknown) ";
    }
  }
  std::string wrong;

 private:
  template <typename Struct>
  static inline const Struct kEmpty{};

  json resolved(json at) const {
    if (at.contains("allOf")) at = at["allOf"][0];
    if (at.contains("$ref")) {
      at = schema_.at(json::json_pointer(at["$ref"].get<std::string>().substr(1)));
    }
    return at;
  }
  void type(const json& at, const std::string& path, const char* expected) {
    if (resolved(at).value("type", "") != expected) wrong += path + " is no " + expected + " ";
  }
  void check(const json& at, const std::string& path, const pool::Count&) {
    type(at, path, "integer");
  }
  void check(const json& at, const std::string& path, const double&) { type(at, path, "number"); }
  void check(const json& at, const std::string& path, const std::string&) {
    type(at, path, "string");
  }
  void check(const json& at, const std::string& path, const pool::Histogram&) {
    check(resolved(at)["patternProperties"]["^[0-9]+$"], path + "/*", pool::Count{});
  }
  void check(const json& at, const std::string& path, const pool::Shares&) {
    check(resolved(at)["patternProperties"]["^[0-9]+$"], path + "/*", 0.0);
  }
  template <typename Element>
  void check(const json& at, const std::string& path, const std::vector<Element>&) {
    type(at, path, "array");
    walk<Element>(resolved(at)["items"], path + "/0");
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void check(const json& at, const std::string& path, const Struct&) {
    type(at, path, "object");
    walk<Struct>(at, path);
  }

  const json& schema_;
};

/// Every path of `expected` that `found` lacks, but for keys of maps and lists that depend on data.
void missing(const json& expected, const json& found, const std::string& path, std::string& out) {
  for (const auto& [key, value] : expected.items()) {
    const std::string at = path + "/" + key;
    if (at == "/comment" || path == "/pool/fragmentation/free_ranges_log2") continue;
    if (!found.contains(key)) {
      out += at + " ";
    } else if (value.is_object()) {
      missing(value, found[key], at, out);
    }
  }
}

}  // namespace

TEST_CASE("The schema of statistics accepts the example, and misses every key that is not there") {
  const json example = read("/tests/data/stats-example.json");
  CHECK(valid(example));
  const json flat = example.flatten();
  int removed = 0;
  for (const auto& [pointer, value] : flat.items()) {
    const json::json_pointer at(pointer);
    if (pointer == "/comment" || pointer.find("free_below") != std::string::npos ||
        pointer.find("free_ranges_log2") != std::string::npos || pointer == "/config") {
      continue;
    }
    json without = example;
    without[at.parent_pointer()].erase(at.back());
    INFO(pointer);
    CHECK_FALSE(valid(without));
    ++removed;
    if (value.is_number()) {
      json negative = example;
      negative[at] = -1;
      if (pointer != "/pool/fragmentation/realized_at_peak") CHECK_FALSE(valid(negative));
    }
  }
  CHECK(removed > 100);
  json wrong = example;
  wrong["schema"] = "forebay.stats/2";
  CHECK_FALSE(valid(wrong));
  wrong = example;
  wrong.erase("config");
  CHECK_FALSE(valid(wrong));
}

TEST_CASE("A dump that lacks the keys which came later is valid, and no other key may be missing") {
  const auto device = std::make_shared<test::FakeDevice>();
  json document = json::parse(device->stats_json());
  REQUIRE(valid(document));
  for (const char* later : {"compile_wait_us", "queued", "dropped", "loaded", "disk_written"}) {
    REQUIRE(document["kernels"].erase(later) == 1);
  }
  for (const char* later : {"graphs", "version", "config_hash", "clock", "leaks", "pinned"}) {
    REQUIRE(document.erase(later) == 1);
  }
  CHECK(valid(document));
  document["kernels"].erase("compile_us");
  CHECK_FALSE(valid(document));
}

TEST_CASE("The schema describes every field of a pool's statistics, and no others") {
  const json schema = read("/configs/forebay.stats.schema.json");
  SchemaWalk walk(schema);
  walk.walk<pool::PoolStats>(schema["definitions"]["pool"], "/pool");
  CHECK(walk.wrong == "");
}

TEST_CASE("Dumps of an empty, a busy, a mid-pending and a full pool are valid") {
  Config config;
  config.pool.capacity = std::size_t{32} << 20;
  const auto device = std::make_shared<test::FakeDevice>(0, config);
  const pool::StreamId stream = device->default_stream().id();
  const auto dump = [&] {
    const json document = json::parse(device->stats_json());
    CHECK(valid(document));
    CHECK(pool::check_identities(device->pool().stats()).empty());
    return document["pool"];
  };
  CHECK(dump()["held"]["current"] == 0);

  std::vector<void*> blocks;
  for (const std::size_t bytes : {100, 3000, 100'000, 700'000, 2'500'000, 100, 9'000'000}) {
    blocks.push_back(device->pool().allocate(bytes, stream));
  }
  json busy = dump();
  CHECK(busy["slab"]["classes"].size() == 2);
  CHECK(busy["slab"]["pages"].get<int>() >= 2);
  CHECK(busy["fragmentation"]["granule_occupancy"].size() >= 1);

  // Whether their points have passed is asked only when memory is wanted.
  for (std::size_t i = 0; i < blocks.size(); i += 2) device->pool().deallocate(blocks[i], stream);
  const json pending = dump();
  CHECK(pending["pending"]["current"].get<std::uint64_t>() >= 11'500'000);

  std::size_t live = 0;
  try {
    while (true) {
      (void)device->pool().allocate(std::size_t{1} << 20, stream);
      ++live;
    }
  } catch (const OutOfMemory&) {
  }
  CHECK(live > 10);
  const json full = dump();
  CHECK(full["allocations"]["failed"] == 1);
  CHECK(full["held"]["current"] == full["capacity"]);
}

TEST_CASE("A dump has every key that the schema describes, however little there was to tell") {
  const json schema = read("/configs/forebay.stats.schema.json");
  const auto device = std::make_shared<test::FakeDevice>();
  const auto lacks = [&](StatsDetail detail) {
    const json document = json::parse(device->stats_json(detail));
    CHECK(valid(document));
    std::string out;
    lacking(schema, schema, document, "", out);
    return out;
  };
  CHECK(lacks(StatsDetail::counters) ==
        "/leaks[] /pinned/buddy/orders[] /pinned/map[] /pinned/slab/classes[] /pinned/streams[] "
        "/pool/buddy/orders[] /pool/map[] /pool/slab/classes[] /pool/streams[] ");
  const pool::StreamId stream = device->default_stream().id();
  for (pool::Pool pool : {device->pool(), device->pinned_pool()}) {
    for (const std::size_t bytes : {5000, 100'000, 3'000'000}) {
      (void)pool.allocate(bytes, stream);
    }
  }
  const std::string lists = lacks(StatsDetail::everything);
  // No call stack was kept.
  std::string sites = lists;
  for (const std::string site = "/leaks[]/site[] "; sites.find(site) == 0;) {
    sites.erase(0, site.size());
  }
  CHECK(sites == "");
}

TEST_CASE("A dump says who made it, with which configuration, and by which clock") {
  const auto device = std::make_shared<test::FakeDevice>();
  const json document = json::parse(device->stats_json());
  CHECK(document["version"].get<std::string>().find('.') != std::string::npos);
  CHECK(document["clock"]["name"].get<std::string>().find("MONOTONIC") != std::string::npos);
  CHECK(document["clock"]["resolution_s"] > 0);
  CHECK(document["device"]["used"] == (64 << 20) - 1234);
  const std::string hash = document["config_hash"];
  CHECK(hash.size() == 16);
  CHECK(json::parse(std::make_shared<test::FakeDevice>(1)->stats_json())["config_hash"] == hash);
  Config other;
  other.pool.point_every_frees = 65;
  const auto changed = std::make_shared<test::FakeDevice>(0, other);
  CHECK(json::parse(changed->stats_json())["config_hash"] != hash);
  // However the same configuration was written.
  const Config again = Config::parse(document["config"].dump());
  const auto same = std::make_shared<test::FakeDevice>(0, again);
  CHECK(json::parse(same->stats_json())["config_hash"] == hash);
}

TEST_CASE("The map and what is live are in a dump only on demand, and the map adds up") {
  const auto device = std::make_shared<test::FakeDevice>();
  const pool::StreamId stream = device->default_stream().id();
  (void)device->pool().allocate(5'000'000, stream, {.tag = "weights"});
  (void)device->pool().allocate(5000, stream);
  (void)device->pinned_pool().allocate(700, stream);
  const json plain = json::parse(device->stats_json());
  CHECK(plain["pool"]["map"].empty());
  CHECK(plain["leaks"].empty());
  const json document = json::parse(device->stats_json(StatsDetail::everything));
  CHECK(valid(document));
  for (const char* name : {"pool", "pinned"}) {
    INFO(name);
    const json& of = document[name];
    CHECK(of["map_left_out"] == 0);
    std::uint64_t mapped = 0, allocated = 0;
    for (const json& range : of["map"]) {
      allocated += range["allocated"].get<std::uint64_t>();
      if (range["client"] != "handle") mapped += range["bytes"].get<std::uint64_t>();
    }
    CHECK(of["map"].size() > 0);
    CHECK(mapped == of["mapped"]["current"]);
    CHECK(allocated == of["allocated"]["current"]);
  }
  CHECK(document["leaks"].size() == 2);
  CHECK(document["leaks"][0]["tag"] == "weights");
  CHECK(document["leaks"][0]["bytes"] == 5'000'000);
  device->close();
  const json closed = json::parse(device->stats_json(StatsDetail::everything));
  CHECK(valid(closed));
  CHECK(closed["pool"]["allocations"]["live"] == 2);
  CHECK(closed["pool"]["map"].empty());
}

TEST_CASE("Reports of leaks are valid: of nothing, of some, with stacks and with samples") {
  for (const pool::StackMode mode :
       {pool::StackMode::off, pool::StackMode::sampled, pool::StackMode::all}) {
    Config config;
    config.pool.leak_stacks = mode;
    config.pool.leak_sample_bytes = 4096;
    const auto device = std::make_shared<test::FakeDevice>(0, config);
    const pool::StreamId stream = device->default_stream().id();
    CHECK(valid_leaks(json::parse(device->leaks_json())));
    for (int i = 0; i < 50; ++i) {
      (void)device->pool().allocate(3000, stream, {.tag = i % 2 == 0 ? "even" : nullptr});
    }
    (void)device->pinned_pool().allocate(700, stream, {.tag = "\x80\n"});
    const json document = json::parse(device->leaks_json());
    CHECK(valid_leaks(document));
    CHECK(document["pool"]["groups"].size() >= 2);
    std::uint64_t blocks = 0;
    for (const json& group : document["pool"]["groups"]) {
      blocks += group["blocks"].get<std::uint64_t>();
    }
    CHECK(blocks == 50);
    device->close();
    CHECK(valid_leaks(json::parse(device->leaks_json())));
  }
  Runtime runtime = Runtime::create();
  CHECK(valid_leaks(json::parse(runtime.device("host").leaks_json())));
}

TEST_CASE("The schema of leaks misses every key that is not there") {
  Config config;
  config.pool.leak_stacks = pool::StackMode::all;
  const auto device = std::make_shared<test::FakeDevice>(0, config);
  (void)device->pool().allocate(3000, device->default_stream().id());
  const json document = json::parse(device->leaks_json());
  REQUIRE(valid_leaks(document));
  int removed = 0;
  const json flat = document.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    const json::json_pointer at(pointer);
    if (pointer.find("/site/") != std::string::npos || pointer == "/pinned/groups") continue;
    json without = document;
    without[at.parent_pointer()].erase(at.back());
    INFO(pointer);
    CHECK_FALSE(valid_leaks(without));
    json wrong = document;
    wrong[at] = -1;
    CHECK_FALSE(valid_leaks(wrong));
    ++removed;
  }
  CHECK(removed == 3 + 5 + 5 + 6);
  for (const char* pointer : {"/pool", "/pool/groups", "/pool/groups/0/site", "/pinned/groups"}) {
    const json::json_pointer at(pointer);
    json without = document;
    without[at.parent_pointer()].erase(at.back());
    INFO(pointer);
    CHECK_FALSE(valid_leaks(without));
  }
}

TEST_CASE("A device tells what is live, by pool, tag and place, and after close what was") {
  Config config;
  config.pool.leak_stacks = pool::StackMode::all;
  const auto device = std::make_shared<test::FakeDevice>(0, config);
  const pool::StreamId stream = device->default_stream().id();
  (void)device->pool().allocate(5000, stream, {.tag = "weights \"w\""});
  (void)device->pinned_pool().allocate(700, stream);
  const auto check = [](const json& document) {
    CHECK(document["schema"] == "forebay.leaks/1");
    CHECK(document["device"] == "cuda:0");
    CHECK(document["pool"]["stacks"] == "all");
    CHECK(document["pool"]["bytes"] == 5000);
    CHECK(document["pool"]["groups"][0]["tag"] == "weights \"w\"");
    CHECK(document["pool"]["groups"][0]["site"].size() > 0);
    CHECK(document["pinned"]["stacks"] == "off");
    CHECK(document["pinned"]["blocks"] == 1);
    CHECK(document["pinned"]["groups"][0]["site"].empty());
  };
  check(json::parse(device->leaks_json()));
  device->close();
  check(json::parse(device->leaks_json()));

  Runtime runtime = Runtime::create();
  const json host = json::parse(runtime.device("host").leaks_json());
  CHECK(host["device"] == "host");
  CHECK(host["pool"]["blocks"] == 0);
  CHECK_FALSE(host.contains("pinned"));
}

TEST_CASE("A device's statistics carry every key of the example") {
  const json example = read("/tests/data/stats-example.json");
  auto device = std::make_shared<test::FakeDevice>(1);
  void* block = device->pool().allocate(3'000'000, device->default_stream().id());
  const json document = json::parse(device->stats_json());
  CHECK(valid(document));
  std::string lacking;
  missing(example, document, "", lacking);
  CHECK(lacking.empty());
  CHECK(document["pool"]["allocations"]["live"] == 1);
  CHECK(document["pool"]["requested"]["current"] == 3'000'000);
  CHECK(document["pinned"]["allocations"]["live"] == 0);
  CHECK(document["device"]["kind"] == "cuda");
  CHECK(document["device"]["index"] == 1);
  CHECK(document["device"]["name"] == "Fake \"quoted\" device");
  CHECK(document["device"]["free"] == 1234);
  CHECK(document["device"]["driver_calls"] == 56);
  CHECK(document["device"]["total"] == (64 << 20));
  device->pool().deallocate(block, device->default_stream().id());
}

TEST_CASE("Each counter reaches its own key") {
  auto device = std::make_shared<test::FakeDevice>();
  DeviceCounters& counters = device->counters();
  std::uint64_t next = 0;
  const auto set = [&next](Counter& counter) { counter = ++next; };
  set(counters.kernels.loaded);
  set(counters.kernels.memory_hits);
  set(counters.kernels.disk_hits);
  set(counters.kernels.disk_written);
  set(counters.kernels.disk_evicted);
  set(counters.kernels.disk_doubtful);
  set(counters.kernels.compiled);
  set(counters.kernels.failed);
  set(counters.kernels.interpreted_launches);
  set(counters.kernels.compiled_launches);
  set(counters.kernels.compile_us);
  set(counters.fusion.programs);
  set(counters.fusion.operations);
  set(counters.fusion.launches);
  set(counters.fusion.reused);
  set(counters.fusion.plans);
  set(counters.fusion.ends.read);
  set(counters.fusion.ends.max_ops);
  set(counters.fusion.ends.max_inputs);
  set(counters.fusion.ends.max_scalars);
  set(counters.fusion.ends.max_height);
  set(counters.fusion.ends.max_outputs);
  set(counters.fusion.ends.pinned_bytes);
  set(counters.fusion.ends.consumer);
  set(counters.autograd.live_nodes);
  set(counters.graphs.live);
  set(counters.graphs.captured);
  set(counters.graphs.replays);
  set(counters.graphs.updated);
  set(counters.graphs.rebuilt);
  set(counters.events);
  set(counters.tensor_tables);
  const json document = json::parse(device->stats_json());
  std::uint64_t seen = 0;
  for (const char* key :
       {"loaded", "memory_hits", "disk_hits", "disk_written", "disk_evicted", "disk_doubtful",
        "compiled", "failed", "interpreted_launches", "compiled_launches", "compile_us"}) {
    INFO(key);
    CHECK(document["kernels"][key] == ++seen);
  }
  for (const char* key : {"programs", "operations", "launches", "reused", "plans"}) {
    INFO(key);
    CHECK(document["fusion"][key] == ++seen);
  }
  for (const char* key : {"read", "max_ops", "max_inputs", "max_scalars", "max_height",
                          "max_outputs", "pinned_bytes", "consumer"}) {
    INFO(key);
    CHECK(document["fusion"]["ends"][key] == ++seen);
  }
  CHECK(document["autograd"]["live_nodes"] == ++seen);
  for (const char* key : {"live", "captured", "replays", "updated", "rebuilt"}) {
    INFO(key);
    CHECK(document["graphs"][key] == ++seen);
  }
  CHECK(document["events"] == ++seen);
  CHECK(document["tensor_tables"] == ++seen);
}

TEST_CASE("Statistics of the host are valid and carry a configuration that can be used again") {
  Config config;
  config.pool.capacity = std::size_t{64} << 20;
  config.fusion.max_ops = 99;
  Runtime runtime = Runtime::create(config);
  const json document = json::parse(runtime.device("host").stats_json());
  CHECK(valid(document));
  CHECK(document["device"]["kind"] == "host");
  CHECK(document["config"]["pool"]["capacity"] == "64 MiB");
  const Config again = Config::parse(document["config"].dump());
  CHECK(again.fusion.max_ops == 99);
  CHECK(again.pool.handle_size != 0);
}

TEST_CASE("After close the statistics are those of the end") {
  auto device = std::make_shared<test::FakeDevice>();
  (void)device->pool().allocate(5000, device->default_stream().id());
  device->close();
  const std::string text = device->stats_json();
  const json document = json::parse(text);
  CHECK(valid(document));
  CHECK(document["pool"]["allocations"]["live"] == 1);
  CHECK(device->stats_json() == text);
}
