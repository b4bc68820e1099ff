#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

TEST_CASE("bench compute writes rows with every key") {
  const Outcome outcome = run_forebay({"bench", "compute", "--device", "host", "--mib", "1",
                                       "--repeats", "2", "--calls", "100", "--json", "-"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.text("/bench") == "compute");
  CHECK(json.text("/device") == "host");
  CHECK(*json.number("/copy_gb_per_s") > 0);
  REQUIRE(json.size("/rows") == 23);
  for (std::size_t i = 0; i < 23; ++i) {
    const std::string row = "/rows/" + std::to_string(i);
    CHECK(json.text(row + "/case").has_value());
    CHECK(json.text(row + "/tier").has_value());
    for (const char* key : {"/bytes", "/median_s", "/gb_per_s", "/of_copy"}) {
      CHECK(*json.number(row + key) > 0);
    }
  }
  REQUIRE(json.size("/launches") == 2);
  CHECK(json.text("/launches/1/what") == "tensor");
  CHECK(*json.number("/launches/1/us") > 0);
}

TEST_CASE("bench compute refuses what it cannot measure") {
  CHECK(run_forebay({"bench", "compute", "--mib", "0"}).code == 2);
  CHECK(run_forebay({"bench", "compute", "--device", "simulated"}).code == 2);
}
