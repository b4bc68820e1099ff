#include "tools/forebay/stats_table.hpp"

#include <cstdint>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/table_sums.hpp"
#include "tests/tools/child.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::Folder;

namespace {

std::string example() { return Folder::read(FOREBAY_SOURCE_DIR "/tests/data/stats-example.json"); }

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
  for (const char* part :
       {"cuda:0 (NVIDIA H200)", "2026-11-30T12:00:00Z", "\nkernels ", "  compile_us",
        "62000 (62.0 ms)", "\nexpressions ended by  count\n", "+ consumer                4\n",
        "= all                   124\n", "\nautograd: all 0 (live_nodes)\n"}) {
    INFO(part);
    CHECK(table.find(part) != std::string::npos);
  }
  const test::TableSums sums = test::check_sums(table);
  CHECK(sums.wrong == "");
  CHECK(sums.checked > 30);
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
  CHECK(old.find("live by tag: nothing listed\n") != std::string::npos);
  has(old, "  in use by anybody   10754820096 (10.0 GiB)\n");
  has(old, "+ free               140000000000 (130.4 GiB)\n");
  has(old, "= total              150754820096 (140.4 GiB)\n");

  std::string leaks;
  for (int i = 0; i < 25; ++i) {
    leaks += std::string(i == 0 ? "" : ", ") + R"({"tag": "t)" + std::to_string(i) +
             R"(", "bytes": 360000, "blocks": )" + (i == 0 ? "18" : "1") + R"(, "site": [)" +
             (i == 0 ? "\"f() at a.cpp:1\"" : "") + "]}";
  }
  std::string json =
      replaced(example(), R"("config": {},)",
               R"("version": "1.2.3", "config_hash": "0123456789abcdef", "leaks": [)" + leaks +
                   R"(], "config": {"log": {"level": "warn"}},)");
  json = replaced(json, R"("capacity":)", R"("age_s": 12.5, "capacity":)");
  json = replaced(json, R"("peak": 35651584})", R"("peak": 35651584, "peak_at_s": 7.25})");
  const std::string table = table_of(json);
  has(table, "\nforebay 1.2.3, configuration 0123456789abcdef\n");
  has(table, "  age_s         12.500\n");
  has(table, "= held ");
  has(table, "  7.250  ");
  has(table, "+ t0                360000 (351.6 KiB)      18 ");
  has(table, "\n      at f() at a.cpp:1\n+ t1 ");
  has(table, "+ t24 ");
  has(table, "  log.level   warn\n");
  CHECK(test::check_sums(table).wrong == "");
}

TEST_CASE("every leaf of a dump has its place in the table") {
  // What this version writes, of two pools, with lists; and what only a newer one would.
  const Folder folder;
  const std::string file = folder.file("s.json");
  REQUIRE(test::run_forebay({"bench", "cold-start", "--device", "host", "--tensors", "4", "--loops",
                             "1", "--shape", "64,64", "--stats", file, "--detail"})
              .code == 0);
  nlohmann::json dump = nlohmann::json::parse(Folder::read(file));
  REQUIRE(dump["pool"]["map"].size() > 1);
  REQUIRE(dump["leaks"].size() > 0);
  dump["leaks"][0]["site"] = {"f()", "main"};
  dump["pinned"] = dump["pool"];
  dump["pool"]["ladder"]["lift"] = {{"count", 0}, {"us", 0}, {"people", 0}};
  dump["pool"]["weather"] = {{"sun", 0}, {"rain", {0, 0}}, {"wind", {{"north", 0}}}};
  dump["streets"] = {{{"id", 0}}, {{"id", 0}}};
  dump["moon"] = 0;

  std::map<std::string, std::vector<std::string>> forms;
  std::uint64_t last = 0;
  const nlohmann::json flat = dump.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    nlohmann::json& at = dump[nlohmann::json::json_pointer(pointer)];
    const std::uint64_t next = ++last;
    if (value.is_number_integer()) {
      at = 1'000'000'007 + 1'000'003 * next;
      std::ostringstream hex;
      hex << "0x" << std::hex << at.get<std::uint64_t>();
      const auto whole = at.get<std::uint64_t>();
      // A real number of 0 looks like a count.
      forms[pointer] = {std::to_string(whole), hex.str(), std::to_string(whole) + ".000",
                        std::to_string(100 * whole) + ".0 %"};
    } else if (value.is_number_float()) {
      at = static_cast<double>(next) / 1000;
      std::ostringstream share, seconds, plain;
      plain << static_cast<double>(next) / 1000;
      share << std::fixed << std::setprecision(1) << static_cast<double>(next) / 10 << " %";
      seconds << std::fixed << std::setprecision(3) << static_cast<double>(next) / 1000;
      forms[pointer] = {share.str(), seconds.str(), plain.str()};
    } else if (value.is_string() && pointer != "/schema") {
      at = "word" + std::to_string(next);
      forms[pointer] = {at.get<std::string>()};
    }
  }
  CHECK(forms.size() > 500);
  const std::string table = stats_table(JsonDocument(dump.dump(), "dump.json"), "dump.json");
  std::string lacking;
  for (const auto& [pointer, of] : forms) {
    bool found = false;
    for (const std::string& form : of) found |= test::has_token(table, form);
    if (!found) lacking += pointer + " ";
  }
  INFO(table);
  CHECK(lacking == "");
}

TEST_CASE("the table of a dump has no control characters but line ends") {
  std::string json = replaced(example(), "NVIDIA H200", "\\u001b[2J\\nX\\u009b");
  json = replaced(json, R"("config": {})", R"("con\nfig": {"\u001b": "\u001b"}, "config": {})");
  const std::string table = stats_table(JsonDocument(json, "dump.json"), "dump.json");
  for (const char c : table) REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(table.find("\\x1b[2J\\x0aX\\x9b") != std::string::npos);
}

TEST_CASE("the sums of pinned memory are checked as those of the pool") {
  nlohmann::json dump = nlohmann::json::parse(example());
  dump["pinned"] = dump["pool"];
  CHECK(check_document(JsonDocument(dump.dump(), "d"), "d").empty());
  dump["pinned"]["free"]["current"] = 1;
  CHECK(check_document(JsonDocument(dump.dump(), "d"), "d").find("of pinned memory: allocated") ==
        0);
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
