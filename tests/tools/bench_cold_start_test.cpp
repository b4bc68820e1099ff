#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

namespace {

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> words = {"bench", "cold-start", "--device", "host",    "--tensors",
                                    "3",     "--shape",    "8,4,5",    "--loops", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// One line on standard error that names `says`, nothing on standard output, and the code.
void check_refused(const std::vector<std::string>& words, int code, const std::string& says) {
  const Outcome outcome = run_forebay(words);
  INFO(outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.out.empty());
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(outcome.err.find(says) != std::string::npos);
}

}  // namespace

TEST_CASE("cold-start prints a line for each pass and writes JSON with every key") {
  const Folder folder;
  const std::string file = folder.file("result.json");
  const Outcome outcome = run_forebay(small({"--json", file, "--fresh-cache"}));
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.rfind("i: 0, sum: 480, elapsed: ", 0) == 0);
  CHECK(outcome.out.find("\ni: 1, sum: 480, elapsed: ") != std::string::npos);
  CHECK(forebay::test::lines(outcome.out) == 2);
  const JsonDocument json(Folder::read(file), file);
  CHECK(json.text("/bench") == "cold-start");
  CHECK(json.text("/device") == "host");
  CHECK(json.count("/tensors") == 3U);
  CHECK(json.json("/shape") == "[8,4,5]");
  CHECK(json.flag("/fresh_cache") == true);
  REQUIRE(json.size("/iterations") == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string at = "/iterations/" + std::to_string(i);
    CHECK(json.count(at + "/i") == i);
    CHECK(json.number(at + "/sum") == 480.0);
    for (const char* key : {"/elapsed_s", "/upload_s", "/add_sum_s", "/compile_wait_s"}) {
      CHECK(json.number(at + key).has_value());
    }
  }
  const double ratio =
      *json.number("/iterations/0/elapsed_s") / *json.number("/iterations/1/elapsed_s");
  CHECK(*json.number("/first_over_steady") == Approx(ratio));
  for (const char* key : {"/init_s", "/cuinit_s", "/context_s"}) {
    CHECK(json.number(key).has_value());
  }
  CHECK(*json.number("/init_s") > 0);
}

TEST_CASE("one pass has no steady one to compare with") {
  const Outcome outcome = run_forebay(small({"--loops", "1", "--json", "-"}));
  CHECK(outcome.code == 0);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.json("/first_over_steady") == "null");
}

TEST_CASE("standard output carries the JSON alone") {
  const Outcome outcome = run_forebay(small({"--json", "-"}));
  CHECK(JsonDocument(outcome.out, "output").size("/iterations") == 2);
  CHECK(outcome.err.empty());
}

TEST_CASE("a dump by --stats shows the pool while the results are alive") {
  const Folder folder;
  const std::string file = folder.file("stats.json");
  CHECK(run_forebay(small({"--stats", file, "--clone", "--through-host"})).code == 0);
  const JsonDocument stats(Folder::read(file), file);
  CHECK(stats.text("/schema") == "forebay.stats/1");
  CHECK(*stats.count("/pool/requested/current") >= 3 * 160 * 4);
  const Outcome table = run_forebay({"stats", file});
  INFO(table.err);
  CHECK(table.code == 0);
}

TEST_CASE("with --fresh-cache no cache is used, whatever the configuration says") {
  const Folder folder;
  const std::string config = folder.with(
      "c.json", R"({"kernels": {"compiler_cache": true, "cache": {"folder": "/tmp/some"}}})");
  for (const bool fresh : {true, false}) {
    const std::string file = folder.file("stats.json");
    std::vector<std::string> words = small({"--stats", file, "--config", config});
    if (fresh) words.emplace_back("--fresh-cache");
    CHECK(run_forebay(words).code == 0);
    const JsonDocument stats(Folder::read(file), file);
    CHECK(stats.flag("/config/kernels/cache/enabled") == !fresh);
    CHECK(stats.flag("/config/kernels/compiler_cache") == !fresh);
  }
}

TEST_CASE("cold-start refuses bad words and bad work in one line") {
  check_refused(small({"--shape", "-1,4"}), 2, "negative");
  check_refused(small({"--shape", "4000000000,4000000000,4000000000"}), 2, "4000000000");
  check_refused(small({"--shape", "a"}), 2, "'a'");
  check_refused(small({"--loops", "0"}), 2, "--loops");
  check_refused(small({"--device", "gpu"}), 2, "'gpu'");
  check_refused(small({"--device", "cuda:77"}), 1, "cuda:77");
  check_refused(small({"--json", "/no/such/folder/a.json"}), 1, "/no/such/folder/a.json");
  check_refused(small({"--stats", "/no/such/folder/a.json"}), 1, "/no/such/folder/a.json");
  check_refused(small({"--shape", "1000000,1000000"}), 1, "host memory");
  check_refused(small({"--config", "/no/such/config.json"}), 2, "/no/such/config.json");
}

TEST_CASE("work beyond the pool's capacity ends in one line and leaves no file") {
  const Folder folder;
  const std::string config = folder.with("c.json", R"({"pool": {"capacity": "4MiB"}})");
  const std::string result = folder.file("result.json");
  check_refused({"bench", "cold-start", "--device", "host", "--tensors", "4", "--shape", "600,1000",
                 "--config", config, "--json", result},
                1, "capacity");
  CHECK_FALSE(std::filesystem::exists(result));
}
