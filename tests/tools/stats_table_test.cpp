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
  CHECK(refusal(replaced(json, R"("blocks": 3, "extents")", R"("extents")"))
            .find("/pool/span/blocks,") != std::string::npos);
  CHECK(refusal(replaced(json, R"("stranded": 0)", R"("stranded": -1)"))
            .find("/pool/streams/0/stranded") != std::string::npos);
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
