#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

TEST_CASE("the embedding example prints its result and statistics") {
  const forebay::test::Outcome outcome = forebay::test::run_beside("embed", {});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  // The mean of exp(x) over a standard normal x is the square root of e.
  REQUIRE(outcome.out.rfind("mean: ", 0) == 0);
  CHECK(std::stod(outcome.out.substr(6)) == Approx(0.5 * 1.6487213 + 1).margin(0.01));
  const std::string mark = "\nstatistics: ";
  const std::size_t place = outcome.out.find(mark);
  REQUIRE(place != std::string::npos);
  const forebay::tools::JsonDocument stats(outcome.out.substr(place + mark.size()), "statistics");
  CHECK(stats.text("/schema") == "forebay.stats/1");
}
