#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "forebay/runtime/runtime.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/fake_device.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using nlohmann::json;

namespace {

json read(const char* file) {
  std::ifstream stream(std::string(FOREBAY_SOURCE_DIR) + file);
  REQUIRE(stream.is_open());
  return json::parse(stream);
}

bool valid(const json& document) {
  static const json schema_text = read("/configs/forebay.stats.schema.json");
  valijson::Schema schema;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_text), schema);
  valijson::ValidationResults results;
  const bool ok = valijson::Validator().validate(
      schema, valijson::adapters::NlohmannJsonAdapter(document), &results);
  for (const auto& error : results) UNSCOPED_INFO(error.description);
  return ok;
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
  set(counters.kernels.memory_hits);
  set(counters.kernels.disk_hits);
  set(counters.kernels.compiled);
  set(counters.kernels.failed);
  set(counters.kernels.interpreted_launches);
  set(counters.kernels.compiled_launches);
  set(counters.kernels.compile_us);
  set(counters.fusion.programs);
  set(counters.fusion.operations);
  set(counters.fusion.launches);
  set(counters.fusion.plans);
  set(counters.fusion.ends.read);
  set(counters.fusion.ends.max_ops);
  set(counters.fusion.ends.max_inputs);
  set(counters.fusion.ends.max_height);
  set(counters.fusion.ends.pinned_bytes);
  set(counters.fusion.ends.consumer);
  set(counters.autograd.live_nodes);
  set(counters.events);
  set(counters.tensor_tables);
  const json document = json::parse(device->stats_json());
  std::uint64_t seen = 0;
  for (const char* key : {"memory_hits", "disk_hits", "compiled", "failed", "interpreted_launches",
                          "compiled_launches", "compile_us"}) {
    INFO(key);
    CHECK(document["kernels"][key] == ++seen);
  }
  for (const char* key : {"programs", "operations", "launches", "plans"}) {
    INFO(key);
    CHECK(document["fusion"][key] == ++seen);
  }
  for (const char* key :
       {"read", "max_ops", "max_inputs", "max_height", "pinned_bytes", "consumer"}) {
    INFO(key);
    CHECK(document["fusion"]["ends"][key] == ++seen);
  }
  CHECK(document["autograd"]["live_nodes"] == ++seen);
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
