#include "tools/forebay/measures.hpp"

#include <numeric>

#include "tests/support/catch.hpp"

using namespace forebay::tools;

namespace {
std::vector<double> count_from(double first, std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}
}  // namespace

TEST_CASE("the median is the middle, whatever the order") {
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(median(std::vector<double>{9, 1, 5}) == 5);
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
}

TEST_CASE("climb compares the last and the first tenth after the warm-up") {
  std::vector<double> values(10, 1e9);  // warm-up, which may not count
  for (int i = 0; i < 100; ++i) values.push_back(i < 10 ? 2.0 : i < 90 ? 50.0 : 3.0);
  CHECK(*climb_percent(values) == Approx(50));
  CHECK_FALSE(climb_percent(std::vector<double>(11, 1.0)).has_value());
  const std::vector<double> two_left = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 3};
  CHECK(*climb_percent(two_left) == Approx(-25));
}

TEST_CASE("the sign-test interval is that of the tables") {
  // Order statistics for 95 %: n = 6: 1 and 6; 10: 2 and 9; 20: 6 and 15; 25: 8 and 18.
  const auto bounds = [](std::size_t n) {
    const Interval interval = median_interval(count_from(1, n));
    CHECK(interval.confidence >= 0.95);
    return std::pair(interval.low, interval.high);
  };
  CHECK(bounds(6) == std::pair(1.0, 6.0));
  CHECK(bounds(10) == std::pair(2.0, 9.0));
  CHECK(bounds(20) == std::pair(6.0, 15.0));
  CHECK(bounds(25) == std::pair(8.0, 18.0));
  CHECK(median_interval(count_from(1, 10)).confidence == Approx(1 - 22.0 / 1024));
  const Interval few = median_interval(count_from(1, 3));
  CHECK(few.low == 1);
  CHECK(few.high == 3);
  CHECK(few.confidence == Approx(0.75));
}
