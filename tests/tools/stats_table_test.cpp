#include "tools/forebay/stats_table.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

std::string example() {
  return test::Folder::read(FOREBAY_SOURCE_DIR "/tests/data/stats-example.json");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  return text.replace(place, from.size(), to);
}

pool::PoolStats read(const std::string& json) {
  return read_pool_stats(JsonDocument(json, "dump.json"), "dump.json");
}

std::string refusal(const std::string& json) {
  try {
    static_cast<void>(read(json));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every kind of field of a dump is read") {
  const pool::PoolStats stats = read(example());
  CHECK(stats.requested.total == 123'000'000);
  CHECK(stats.held.peak == 35'651'584);
  CHECK(stats.capacity == 143'223'549'952);
  CHECK(stats.fragmentation.internal == 0.046);
  CHECK(stats.fragmentation.free_below.at(33'554'432) == 5'242'880);
  CHECK(stats.slab.classes.at(0).slots == 1024);
  CHECK(stats.streams.at(0).points_queried == 9);
  CHECK(stats.ladder.remap.us == 300);
  CHECK(stats.latency_ns.deallocate.p99 == 90);
  CHECK(pool::check_identities(stats).empty());
}

TEST_CASE("a dump that was written reads back as itself") {
  const pool::PoolStats stats = read(example());
  const std::string json = R"({"schema": "forebay.stats/1", "pool": )" + pool::to_json(stats) + "}";
  CHECK(pool::to_json(read(json)) == pool::to_json(stats));
}

TEST_CASE("a dump may lack what was added later, and nothing else") {
  const pool::PoolStats stats = read(example());  // which has nothing of that
  CHECK(stats.fragmentation.free_in_ranges == stats.free.current);
  CHECK(stats.fragmentation.external == Approx(0.2));
  CHECK(stats.fragmentation.external_for.at(2'097'152) == Approx(0.2));
  const std::string json = R"({"schema": "forebay.stats/1", "pool": )" + pool::to_json(stats) + "}";
  CHECK(refusal(replaced(json, R"("extents": 0)", R"("e": 0)")).empty());
  CHECK(refusal(replaced(json, R"("use_after_free": 0)", R"("u": 0)")).empty());
  CHECK(refusal(replaced(json, R"("age_s": 0)", R"("a": 0)")).empty());
  CHECK(refusal(replaced(json, R"("map_left_out": 0)", R"("m": 0)")).empty());
  CHECK(refusal(replaced(json, R"("map": [])", R"("m": [])")).empty());
  CHECK(refusal(replaced(json, R"("peak_at_s": 0)", R"("p": 0)")).empty());
  CHECK(refusal(replaced(json, R"("map": [])", R"("map": [{"address": 1}])"))
            .find("/pool/map/0/bytes") != std::string::npos);
  CHECK(refusal(replaced(json, R"("blocks": 3, "extents")", R"("extents")"))
            .find("/pool/span/blocks,") != std::string::npos);
  CHECK(refusal(replaced(json, R"("stranded": 0)", R"("stranded": -1)"))
            .find("/pool/streams/0/stranded") != std::string::npos);
}

TEST_CASE("lists, objects and their numbers are refused as anything else") {
  const std::string json =
      R"({"schema": "forebay.stats/1", "pool": )" + pool::to_json(read(example())) + "}";
  CHECK(refusal(json).empty());
  CHECK(refusal(replaced(json, R"("streams": [)", R"("streams": {}, "s": [)")) ==
        "'dump.json' has no list at /pool/streams, where every forebay.stats/1 has one");
  CHECK(refusal(replaced(json, R"("free_below": {)", R"("free_below": [], "f": {)")) ==
        "'dump.json' has no object at /pool/fragmentation/free_below, where every forebay.stats/1 "
        "has one");
  for (const char* key : {"many", "", "1x", "-1", "01", " 1", "99999999999999999999"}) {
    CHECK(refusal(replaced(json, R"("free_below": {")",
                           R"("free_below": {")" + std::string(key) + R"(": 1, ")")) ==
          "'dump.json' has the key '" + std::string(key) +
              "' at /pool/fragmentation/free_below, where every forebay.stats/1 has whole numbers");
  }
}

TEST_CASE("the table names the device and shows the pool, kernels and fusion") {
  const std::string table = stats_table(JsonDocument(example(), "dump.json"), "dump.json");
  INFO(table);
  for (const char* part : {"cuda:0 (NVIDIA H200)", "2026-11-30T12:00:00Z", "\nkernels\n",
                           "  compile_us", "  ends.consumer", "62000"}) {
    INFO(part);
    CHECK(table.find(part) != std::string::npos);
  }
  CHECK(table.find(pool::to_table(read(example()))) != std::string::npos);
}

TEST_CASE("the table tells what a dump knows beside the pool, and adds it up") {
  const auto table_of = [](const std::string& json) {
    return stats_table(JsonDocument(json, "dump.json"), "dump.json");
  };
  const auto has = [](const std::string& table, const std::string& part) {
    INFO(table);
    INFO(part);
    CHECK(table.find(part) != std::string::npos);
  };
  const std::string old = table_of(example());
  CHECK(old.find("forebay ") == std::string::npos);
  CHECK(old.find("after the pool was made") == std::string::npos);
  CHECK(old.find("live by tag") == std::string::npos);
  has(old, "  in use by anybody               10754820096\n");
  has(old, "+ free                           140000000000\n");
  has(old, "= total                          150754820096\n");

  std::string leaks;
  for (int i = 0; i < 25; ++i) {
    leaks += std::string(i == 0 ? "" : ", ") + R"({"tag": "t)" + std::to_string(i) +
             R"(", "bytes": 100, "site": [)" + (i == 0 ? "\"f() at a.cpp:1\"" : "") + "]}";
  }
  std::string json =
      replaced(example(), R"("config": {},)",
               R"("version": "1.2.3", "config_hash": "0123456789abcdef", "leaks": [)" + leaks +
                   R"(], "config": {},)");
  json = replaced(json, R"("capacity":)", R"("age_s": 12.5, "capacity":)");
  json = replaced(json, R"("peak": 35651584})", R"("peak": 35651584, "peak_at_s": 7.25})");
  const std::string table = table_of(json);
  has(table, "\nforebay 1.2.3, configuration 0123456789abcdef\n");
  has(table, "\n12.500 s after the pool was made\n");
  has(table, "= held                               20971520             35651584        7.250\n");
  has(table, "+ t0                                      100\n      at f() at a.cpp:1\n+ t1 ");
  has(table, "+ t19                                     100\n");
  has(table, "+ 5 more                                  500\n");
  has(table, "= requested                              2500\n");
  CHECK(table.find("t20") == std::string::npos);
}

TEST_CASE("what is no dump of statistics is refused with a reason") {
  CHECK(refusal("{}").find("/schema") != std::string::npos);
  CHECK(refusal("[1]").find("/schema") != std::string::npos);
  CHECK(refusal(replaced(example(), "stats/1", "stats/2")).find("forebay.stats/2") !=
        std::string::npos);
  CHECK(refusal(replaced(example(), "\"mapped\":    {\"current\": 16777216",
                         "\"m\": {\"current\": 16777216"))
            .find("/pool/mapped,") != std::string::npos);
  CHECK(refusal(replaced(example(), "\"streams\"", "\"s\"")).find("/pool/streams") !=
        std::string::npos);
  CHECK(
      refusal(replaced(example(), "\"live\": 42", "\"live\": -1")).find("/pool/allocations/live") !=
      std::string::npos);
}
