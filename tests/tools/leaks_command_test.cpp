#include "forebay/pool/leaks.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using forebay::pool::LeakReport;
using forebay::pool::StackMode;
using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;

namespace {

LeakReport example() {
  LeakReport report;
  report.stacks = StackMode::all;
  report.symbols = "libdw";
  report.blocks = 3;
  report.bytes = 6000;
  report.groups.push_back(
      {"adam.moments", 2, 5000, 5000, 7, 9, {"make_moments() (adam.cpp:12)", "main (a.cpp:3)"}});
  report.groups.push_back({"(untagged)", 1, 1000, 1000, 0, 0, {}});
  return report;
}

std::string document(const std::string& pool, const std::string& pinned = "") {
  return R"({"schema": "forebay.leaks/1", "time": "2026-11-30T12:00:00Z", "device": "cuda:0", )"
         R"("pool": )" +
         pool + (pinned.empty() ? "" : R"(, "pinned": )" + pinned) + "}";
}

}  // namespace

TEST_CASE("leaks prints what a report holds, as the pool itself would") {
  const Folder folder;
  const std::string file =
      folder.with("leaks.json", document(to_json(example()), to_json(LeakReport{})));
  const auto outcome = run_forebay({"leaks", file});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out == "device cuda:0 at 2026-11-30T12:00:00Z\n\npool: " + to_text(example()) +
                           "\npinned: 0 live blocks of 0 bytes in all\n");
  CHECK(outcome.out.find("      make_moments() (adam.cpp:12)\n") != std::string::npos);
}

TEST_CASE("leaks --fail ends with 1 if anything was live") {
  const Folder folder;
  const std::string live = folder.with("live.json", document(to_json(example())));
  const std::string none = folder.with("none.json", document(to_json(LeakReport{})));
  CHECK(run_forebay({"leaks", none, "--fail"}).code == 0);
  const auto outcome = run_forebay({"leaks", live, "--fail"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("adam.moments") != std::string::npos);
  CHECK(outcome.err.find("has 3 live blocks") != std::string::npos);
}

TEST_CASE("leaks refuses what is no report in one line") {
  const Folder folder;
  const auto with = [](std::string text, const std::string& part, const std::string& other) {
    const std::size_t place = text.find(part);
    REQUIRE(place != std::string::npos);
    return text.replace(place, part.size(), other);
  };
  const auto without = [&](const std::string& text, const std::string& part) {
    return with(text, part, "");
  };
  const std::string good = document(to_json(example()));
  for (const std::string& file :
       {folder.with("empty", ""), folder.with("other", R"({"schema": "forebay.stats/1"})"),
        folder.with("no pool", R"({"schema": "forebay.leaks/1"})"),
        folder.with("no tag", without(good, R"("tag": "adam.moments", )")),
        folder.with("no bytes", without(good, R"("bytes": 6000, )")),
        folder.with("more blocks", with(good, R"("blocks": 3)", R"("blocks": 4)")),
        folder.with("fewer bytes", with(good, R"("bytes": 6000)", R"("bytes": 5999)")),
        folder.with("no site", with(good, R"("site": [])", R"("site": {})")),
        folder.with("site of text", with(good, R"("site": [])", R"("site": "main")")),
        folder.with("groups", with(good, R"("groups": [)", R"("groups": {}, "g": [)")),
        folder.with("device", with(good, R"("device": "cuda:0")", R"("device": 5)")),
        folder.with("time", with(good, R"("time": ")", R"("time": 5, "t": ")")),
        folder.file("missing")}) {
    INFO(file);
    const auto outcome = run_forebay({"leaks", file});
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(file) != std::string::npos);
  }
}

TEST_CASE("a bench writes what has outlived everything") {
  const Folder folder;
  const std::string file = folder.file("leaks.json");
  const Outcome bench =
      run_forebay({"bench", "cold-start", "--device", "host", "--tensors", "2", "--loops", "1",
                   "--shape", "64,64", "--leaks", file, "--config",
                   folder.with("debug.json", R"({"pool": {"leaks": {"stacks": "all"}}})")});
  INFO(bench.err);
  REQUIRE(bench.code == 0);
  const auto outcome = run_forebay({"leaks", file, "--fail"});
  INFO(outcome.out);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("device host") == 0);
}
