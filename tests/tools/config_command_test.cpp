#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

TEST_CASE("what config show prints is a right configuration that shows as itself") {
  const Folder folder;
  const Outcome shown = run_forebay({"config", "show"});
  CHECK(shown.code == 0);
  const std::string file = folder.with("c.json", shown.out);
  const Outcome checked = run_forebay({"config", "check", file});
  CHECK(checked.code == 0);
  CHECK(checked.out == file + " is right\n");
  CHECK(run_forebay({"config", "show", file}).out == shown.out);
}

TEST_CASE("config show carries what a file says") {
  const Folder folder;
  const std::string file = folder.with("c.json", R"({"pool": {"points": {"every_frees": 7}}})");
  const Outcome shown = run_forebay({"config", "show", file});
  INFO(shown.err);
  CHECK(JsonDocument(shown.out, "shown").count("/pool/points/every_frees") == 7U);
}

TEST_CASE("config check says in one line what is wrong and where") {
  const Folder folder;
  const auto check = [&](const std::string& text, const std::string& says) {
    const std::string file = folder.with("bad.json", text);
    const Outcome outcome = run_forebay({"config", "check", file});
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(says) != std::string::npos);
    // A command that was to work with it was asked wrongly.
    const Outcome bench = run_forebay({"bench", "cold-start", "--config", file});
    CHECK(bench.code == 2);
    CHECK(bench.out.empty());
    CHECK(bench.err == outcome.err);
  };
  check(R"({"pool": {"colour": 1}})", "/pool/colour");
  check(R"({"pool": {"points": {"every_frees": "often"}}})", "/pool/points/every_frees");
  check(R"({"pool": {"points": {"every_frees": -1}}})", "/pool/points/every_frees");
  check(R"({"pool": )", "bad.json");
  const Outcome missing = run_forebay({"config", "check", folder.file("missing.json")});
  CHECK(missing.code == 1);
  CHECK(missing.err.find("missing.json") != std::string::npos);
  CHECK(run_forebay({"config", "check"}).code == 2);
}

TEST_CASE("config check has one line for each mistake") {
  const Folder folder;
  const std::string file = folder.with(
      "bad.json",
      R"({"pool": {"colour": 1, "capacity": "much", "soft_limit": "4 GiB"}, "log": {"level": 3}})");
  const Outcome outcome = run_forebay({"config", "check", file});
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(outcome.out.empty());
  CHECK(forebay::test::lines(outcome.err) == 3);
  for (const char* pointer : {"/pool/colour", "/pool/capacity", "/log/level"}) {
    CHECK(outcome.err.find("forebay: " + file + ": " + pointer + ": ") != std::string::npos);
  }
}

TEST_CASE("config schema is JSON that names the keys") {
  const Outcome schema = run_forebay({"config", "schema"});
  CHECK(schema.code == 0);
  const JsonDocument read(schema.out, "schema");
  CHECK_FALSE(read.members("/properties/pool").empty());
  CHECK(run_forebay({"config", "schema", "file"}).code == 2);
}
