#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

TEST_CASE("bench compute writes rows with every key") {
  const Outcome outcome =
      run_forebay({"bench", "compute", "--device", "host", "--mib", "1", "--repeats", "2",
                   "--calls", "100", "--queued", "64", "--json", "-"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.text("/bench") == "compute");
  CHECK(json.text("/device") == "host");
  CHECK(*json.number("/copy_gb_per_s") > 0);
  REQUIRE(json.size("/rows") == 53);
  for (std::size_t i = 0; i < 50; ++i) {
    const std::string row = "/rows/" + std::to_string(i);
    CHECK(json.text(row + "/case").has_value());
    CHECK(json.text(row + "/tier").has_value());
    for (const char* key : {"/bytes", "/median_s", "/gb_per_s", "/of_copy"}) {
      CHECK(*json.number(row + key) > 0);
    }
  }
  REQUIRE(json.size("/launches") == 5);
  const char* const launches[] = {"call", "executor", "tensor", "eager", "graph"};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(json.text("/launches/" + std::to_string(i) + "/what") == launches[i]);
    CHECK(*json.number("/launches/" + std::to_string(i) + "/us") > 0);
  }
  REQUIRE(json.size("/planning") == 4);
  CHECK(json.text("/planning/3/what") == "chain");
  CHECK(*json.number("/planning/3/queued") == 64);
  CHECK(*json.number("/planning/3/us_per_op") > 0);
  CHECK(*json.number("/planning/3/launches_per_op") > 0);
}

TEST_CASE("bench compute refuses what it cannot measure") {
  CHECK(run_forebay({"bench", "compute", "--mib", "0"}).code == 2);
  CHECK(run_forebay({"bench", "compute", "--device", "simulated"}).code == 2);
}
