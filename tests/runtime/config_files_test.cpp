// The files under configs/ and the guide to the keys: they say what the code says.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/config_keys.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace forebay;

namespace {

const std::string kRoot = FOREBAY_SOURCE_DIR;
const std::string kDefault = kRoot + "/configs/default.json";
const std::string kSchema = kRoot + "/configs/forebay.schema.json";
const std::string kGuide = kRoot + "/docs/configuration.md";

std::string content(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.is_open());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool valid(const std::string& text) {
  static const test::Schema schema(Config::schema());
  return schema.complaints(text).empty();
}

bool parses(const std::string& text) {
  try {
    (void)Config::parse(text);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace

TEST_CASE("configs/default.json spells every default") {
  CHECK(content(kDefault) == Config{}.to_json());
  CHECK(Config::load(kDefault).to_json() == Config{}.to_json());
}

TEST_CASE("configs/debug.json switches every debug mode on") {
  const std::string file = kRoot + "/configs/debug.json";
  CHECK(valid(content(file)));
  const Config config = Config::load(file);
  for (const pool::PoolConfig* of : {&config.pool, &config.pinned}) {
    CHECK(of->leak_stacks == pool::StackMode::all);
    CHECK(of->debug_fill);
    CHECK(of->debug_canary > 0);
    CHECK(of->debug_quarantine > 0);
  }
  CHECK(config.pool.debug_guard_sample > 0);
}

TEST_CASE("configs/forebay.schema.json is the schema") {
  CHECK(content(kSchema) == Config::schema());
}

TEST_CASE("docs/configuration.md is the guide to the keys") {
  CHECK(content(kGuide) == config_keys::guide());
}

TEST_CASE("The schema accepts the defaults and the effective configuration") {
  CHECK(valid(content(kDefault)));
  CHECK(valid("{}"));
  Config config;
  config.pool.mode = pool::PoolMode::passthrough;
  config.pool.capacity = 12345678;
  CHECK(valid(config.to_json()));
  CHECK(parses(config.to_json()));
}

TEST_CASE("every policy file is valid, spells no default and says something") {
  unsigned files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/configs")) {
    const std::string path = entry.path();
    if (path.find(".schema.") != std::string::npos || path == kDefault) continue;
    INFO(path);
    ++files;
    CHECK(valid(content(path)));
    const Config config = Config::load(path);
    CHECK(config.to_json() != Config{}.to_json());
    // A key that a file leaves out is the default's: each one that it has changes something.
    const Config defaults;
    std::size_t changed = 0;
    for (const auto& key : config_keys::all()) {
      changed += config_keys::number(key, config) != config_keys::number(key, defaults);
    }
    const std::string text = content(path);
    std::size_t values = 0;
    for (std::size_t at = 0; (at = text.find("\": ", at)) != std::string::npos; at += 3) {
      values += text[at + 3] != '{';
    }
    CHECK(values == changed);
  }
  CHECK(files >= 3);
}

TEST_CASE("The schema and the reader agree") {
  for (const char* text :
       {R"({"pool": {"capacity": 0}})", R"({"pool": {"capacity": "64 MiB"}})",
        R"({"$schema": "forebay.schema.json"})", R"({"pool": {"capacity": "1.5GiB"}})",
        R"({"pool": {"slab": {"max_block": 4096}}})", R"({"fusion": {"pinned_fraction": 0}})",
        R"({"log": {"level": "off"}})", R"({"kernels": {"compiler_cache": false}})",
        R"({"kernels": {"cache": {"enabled": false}}})",
        R"({"pool": {"ladder": ["completed", "map"]}})",
        R"({"pool": {"ladder": ["completed", "wait", "trim", "map", "steal"]}})",
        R"({"kernels": {"cache": {"folder": "/tmp/a b", "max_bytes": "1 MiB"}}})",
        R"({"kernels": {"cache": {"folder": "", "max_entries": 16}}})"}) {
    INFO(text);
    CHECK(valid(text));
    CHECK(parses(text));
  }
  for (const char* text : {R"([])",
                           R"({"$schema": 1})",
                           R"({"pool": {"$schema": "x"}})",
                           R"({"pool": 1})",
                           R"({"pol": {}})",
                           R"({"pool": {"capasity": 1}})",
                           R"({"pool": {"capacity": -1}})",
                           R"({"pool": {"capacity": 4096}})",
                           R"({"pool": {"capacity": 1.5}})",
                           R"({"pool": {"capacity": "64 MB"}})",
                           R"({"pool": {"capacity": null}})",
                           R"({"pool": {"slab": {"max_block": true}}})",
                           R"({"fusion": {"pinned_fraction": 2}})",
                           R"({"pool": {"ladder": "map"}})",
                           R"({"pool": {"ladder": []}})",
                           R"({"pool": {"ladder": ["completed"]}})",
                           R"({"pool": {"ladder": ["map", "completed"]}})",
                           R"({"pool": {"ladder": ["completed", "steal"]}})",
                           R"({"pool": {"ladder": ["completed", "map", "map"]}})",
                           R"({"pool": {"ladder": ["completed", "map", "stael"]}})",
                           R"({"pool": {"ladder": ["completed", "map", 1]}})",
                           R"({"fusion": {"max_ops": 0}})",
                           R"({"fusion": {"max_ops": "1"}})",
                           R"({"log": {"level": "loud"}})",
                           R"({"kernels": {"compiler_cache": 0}})",
                           R"({"kernels": {"cache": true}})",
                           R"({"kernels": {"cache": {"folder": "tmp"}}})",
                           R"({"kernels": {"cache": {"folder": 1}}})",
                           R"({"kernels": {"cache": {"folder": "/a\nb"}}})",
                           R"({"kernels": {"cache": {"max_bytes": 0}}})",
                           R"({"kernels": {"cache": {"max_bytes": 2199023255552}}})",
                           R"({"kernels": {"cache": {"max_entries": 15}}})",
                           R"({"kernels": {"cache": {"max_entries": 65537}}})",
                           R"({"kernels": {"cache": {"max_entrys": 16}}})",
                           R"({"matmul": {"max_plans": 65537}})"}) {
    INFO(text);
    CHECK_FALSE(valid(text));
    CHECK_FALSE(parses(text));
  }
}

// Hidden: `runtime_tests "[write]"` writes the files anew after the table has changed.
TEST_CASE("Write the files that the table of keys makes", "[.][write]") {
  std::ofstream(kDefault) << Config{}.to_json();
  std::ofstream(kSchema) << Config::schema();
  std::ofstream(kGuide) << config_keys::guide();
}
