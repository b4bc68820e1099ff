#include "tools/forebay/reinit_pairs.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

std::unique_ptr<JsonDocument> result(const std::string& mode, bool holds, const std::string& loss) {
  return std::make_unique<JsonDocument>(
      R"({"mode": ")" + mode + R"(", "climb_percent": 1.5, "holds": )" +
          (holds ? "true" : "false") + R"(, "broken": ["events went from 1 to 2"], "loss": )" +
          loss + "}",
      mode);
}

}  // namespace

TEST_CASE("the verdict is about the interval: at 0, or within three percent") {
  const auto flat_enough = [](double low, double high) {
    std::vector<double> differences(10, (low + high) / 2);
    differences[0] = differences[1] = low;
    differences[8] = differences[9] = high;
    const PairsVerdict verdict = judge_pairs(differences);
    CHECK(verdict.interval.low == low);
    CHECK(verdict.interval.high == high);
    return verdict.flat_enough;
  };
  CHECK(flat_enough(-8, 1));
  CHECK(flat_enough(1, 2.9));
  CHECK(flat_enough(-2.9, -1));
  CHECK(flat_enough(0, 9));
  CHECK_FALSE(flat_enough(1, 3.1));
  CHECK_FALSE(flat_enough(-9, -1));
  CHECK(judge_pairs({5, 1, 3}).median_difference == 3);
}

TEST_CASE("a pair is at fault for counters that do not hold and for losses that differ") {
  ReinitPair pair;
  pair.flat = result("flat", true, "[1, 0.5]");
  pair.climb = result("climb", true, "[1, 0.5]");
  CHECK(pair_faults(pair).empty());
  pair.climb = result("climb", true, "[1, 0.25]");
  CHECK(pair_faults(pair).size() == 1);
  pair.climb = result("climb", false, "[1, 0.5]");
  REQUIRE(pair_faults(pair).size() == 1);
  CHECK(pair_faults(pair)[0].find("events went from 1 to 2") != std::string::npos);
}

TEST_CASE("the JSON carries every pair and the verdict") {
  std::vector<ReinitPair> pairs(2);
  for (ReinitPair& pair : pairs) {
    pair.flat = result("flat", true, "[1]");
    pair.climb = result("climb", true, "[1]");
    pair.difference = 0.25;
  }
  PairsVerdict verdict;
  verdict.median_difference = 0.25;
  verdict.interval = {-1, 2, 0.978};
  verdict.flat_enough = true;
  const JsonDocument json(pairs_json(pairs, verdict, {}), "pairs");
  CHECK(json.size("/pairs") == 2);
  CHECK(json.number("/pairs/1/flat/climb_percent") == 1.5);
  CHECK(json.number("/pairs/1/difference_percent") == 0.25);
  CHECK(json.number("/interval/low") == -1.0);
  CHECK(json.number("/interval/confidence") == 0.978);
  CHECK(json.flag("/flat_enough") == true);
  CHECK(json.flag("/holds") == true);
}
