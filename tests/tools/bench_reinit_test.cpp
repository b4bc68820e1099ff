#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

namespace {

std::vector<std::string> small_reinit(std::vector<std::string> more) {
  std::vector<std::string> words = {"bench", "reinit", "--device", "host", "--inner-steps", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("reinit prints a line for each iteration and writes JSON with every key") {
  const Folder folder;
  const std::string file = folder.file("result.json");
  const std::string dump = folder.file("stats.json");
  const Outcome outcome =
      run_forebay(small_reinit({"--mode", "climb", "--iters", "14", "--jitter", "--drop-order",
                                "random", "--json", file, "--stats", dump}));
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(forebay::test::lines(outcome.out) == 14);
  CHECK(outcome.out.rfind("iter=0 st=", 0) == 0);
  CHECK(outcome.out.find("\niter=13 st=") != std::string::npos);
  CHECK(outcome.out.find("ms\n") != std::string::npos);
  const JsonDocument json(Folder::read(file), file);
  CHECK(json.text("/bench") == "reinit");
  CHECK(json.text("/mode") == "climb");
  CHECK(json.count("/iters") == 14U);
  CHECK(json.size("/st_ms") == 14);
  CHECK(json.size("/loss") == 14);
  CHECK(json.number("/climb_percent").has_value());
  CHECK(json.number("/step_us").has_value());
  CHECK(json.number("/train_step_us").has_value());
  CHECK(json.count("/counters_first_iteration") == 10U);
  CHECK(json.flag("/holds") == true);
  CHECK(json.json("/broken") == "[]");
  for (const char* counters : {"/counters_first", "/counters_last"}) {
    for (const char* key : {"live_blocks", "live_bytes", "held_bytes", "tape_nodes", "events",
                            "programs", "plans", "driver_calls", "compilations", "tensor_tables"}) {
      INFO(counters << "/" << key);
      CHECK(json.count(std::string(counters) + "/" + key).has_value());
    }
  }
  CHECK(*json.count("/counters_last/live_bytes") > 0);
  const Outcome table = run_forebay({"stats", dump});
  INFO(table.err);
  CHECK(table.code == 0);
}

TEST_CASE("losses are bit for bit the same in flat and climb") {
  const auto loss = [](const char* mode) {
    const Outcome outcome =
        run_forebay(small_reinit({"--mode", mode, "--iters", "4", "--json", "-"}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return JsonDocument(outcome.out, "output").json("/loss");
  };
  const std::string flat = loss("flat");
  CHECK(flat.size() > 8);
  CHECK(loss("climb") == flat);
}

TEST_CASE("pairs run children of their own and judge them") {
  const Folder folder;
  const std::string file = folder.file("pairs.json");
  const Outcome outcome =
      run_forebay(small_reinit({"--pairs", "10", "--iters", "12", "--json", file}));
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(forebay::test::lines(outcome.out) == 11);
  CHECK(outcome.err.empty());
  const JsonDocument json(Folder::read(file), file);
  CHECK(json.text("/bench") == "reinit");
  REQUIRE(json.size("/pairs") == 10);
  std::vector<double> differences;
  for (std::size_t i = 0; i < 10; ++i) {
    const std::string at = "/pairs/" + std::to_string(i);
    differences.push_back(*json.number(at + "/difference_percent"));
    CHECK(differences.back() == Approx(*json.number(at + "/climb/climb_percent") -
                                       *json.number(at + "/flat/climb_percent")));
    CHECK(json.flag(at + "/climb/holds") == true);
  }
  std::sort(differences.begin(), differences.end());
  CHECK(*json.number("/interval/low") == differences[1]);
  CHECK(*json.number("/interval/high") == differences[8]);
  CHECK(*json.number("/median_difference_percent") ==
        Approx((differences[4] + differences[5]) / 2));
}

TEST_CASE("reinit refuses bad words in one line") {
  const auto refused = [](const std::vector<std::string>& more, int code, const std::string& says) {
    const Outcome outcome = run_forebay(small_reinit(more));
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(says) != std::string::npos);
  };
  refused({"--mode", "up"}, 2, "'up'");
  refused({"--pairs", "9"}, 2, "--pairs");
  refused({"--pairs", "10", "--iters", "11"}, 2, "--iters");
  refused({"--pairs", "10", "--stats", "s.json"}, 2, "--stats");
  refused({"--pairs", "10", "--detail"}, 2, "--detail");
  refused({"--iters", "0"}, 2, "--iters");
  refused({"--drop-order", "reverse"}, 2, "'reverse'");
  refused({"--device", "cuda:77"}, 1, "cuda:77");
  refused({"--json", "/no/such/folder/a.json"}, 1, "/no/such/folder");
}

TEST_CASE("a child of pairs that fails ends them with its reason") {
  const Outcome outcome =
      run_forebay({"bench", "reinit", "--pairs", "10", "--iters", "12", "--device", "cuda:77"});
  CHECK(outcome.code == 1);
  CHECK(outcome.err.find("cuda:77") != std::string::npos);
}
