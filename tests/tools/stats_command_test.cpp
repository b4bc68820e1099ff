#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;

namespace {
const std::string kExample = FOREBAY_SOURCE_DIR "/tests/data/stats-example.json";
}

TEST_CASE("stats prints a dump and is content when it adds up") {
  const Outcome outcome = run_forebay({"stats", kExample});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("cuda:0 (NVIDIA H200)") != std::string::npos);
}

TEST_CASE("stats shows a dump that does not add up, and says so") {
  const Folder folder;
  std::string text = Folder::read(kExample);
  const std::string from = "\"free\":      {\"current\": 5242880";
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  text.replace(place, from.size(), "\"free\": {\"current\": 5242881");
  const Outcome outcome = run_forebay({"stats", folder.with("wrong.json", text)});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("NVIDIA H200") != std::string::npos);
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(outcome.err.find("does not add up") != std::string::npos);
  CHECK(outcome.err.find("16777217") != std::string::npos);
}

TEST_CASE("stats takes what is in quarantine for live, and for no leak") {
  const Folder folder;
  const std::string file = folder.file("s.json");
  const std::string config =
      folder.with("c.json", R"({"pool": {"debug": {"quarantine": "1 MiB"}}})");
  REQUIRE(run_forebay({"bench", "cold-start", "--device", "host", "--tensors", "2", "--loops", "1",
                       "--shape", "64,64", "--config", config, "--stats", file, "--detail"})
              .code == 0);
  const Outcome outcome = run_forebay({"stats", file});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
}

TEST_CASE("stats checks what stands beside the pool, too") {
  const Folder folder;
  const std::string file = folder.file("s.json");
  REQUIRE(run_forebay({"bench", "cold-start", "--device", "host", "--tensors", "2", "--loops", "1",
                       "--shape", "64,64", "--stats", file, "--detail"})
              .code == 0);
  const std::string good = Folder::read(file);
  CHECK(run_forebay({"stats", file}).code == 0);
  const auto check = [&](const std::string& from, const std::string& to, const char* says) {
    std::string text = good;
    const std::size_t place = text.find(from);
    INFO(from);
    REQUIRE(place != std::string::npos);
    const Outcome outcome =
        run_forebay({"stats", folder.with("w.json", text.replace(place, from.size(), to))});
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(says) != std::string::npos);
  };
  check("\"used\": ", "\"used\": 1", "device.used + device.free = device.total does not hold");
  check("\"used\": ", "\"used\": -", "no whole number at /device/used");
  check("\"leaks\": [", "\"leaks\": [{\"bytes\": 1, \"blocks\": 0}, ",
        "sum of leaks[].bytes + debug.quarantined_bytes = requested does not hold");
  check("\"leaks\": [", "\"leaks\": [{\"bytes\": 0, \"blocks\": 1}, ",
        "sum of leaks[].blocks + debug.quarantined_blocks = allocations.live does not hold");
  check("\"leaks\": [", "\"leaks\": [{\"bytes\": 0}, ", "no whole number at /leaks/0/blocks");
  check("\"leaks\": [", "\"leaks\": {}, \"l\": [", "no list at /leaks");
}

TEST_CASE("stats refuses what is no dump in one line") {
  const Folder folder;
  for (const std::string& file :
       {folder.with("empty", ""), folder.with("text", "words"), folder.with("other", "{\"a\": 1}"),
        folder.file("missing"), folder.file(""), std::string("/dev/zero")}) {
    const Outcome outcome = run_forebay({"stats", file});
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(file) != std::string::npos);
  }
}

TEST_CASE("stats passes no control character of a dump on to the terminal") {
  const Folder folder;
  std::string text = Folder::read(kExample);
  const std::string from = "NVIDIA H200";
  text.replace(text.find(from), from.size(), "\\u001b[2J\\nX");
  const Outcome outcome = run_forebay({"stats", folder.with("named.json", text)});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("(\\x1b[2J\\x0aX)") != std::string::npos);
  const Outcome schema =
      run_forebay({"stats", folder.with("schema.json", "{\"schema\": \"\\u001b[2J\"}")});
  CHECK(schema.err.find("'\\x1b[2J'") != std::string::npos);
}
