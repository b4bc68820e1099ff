#include "pool/gauge.hpp"

#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

/// Moves only when a test says so, and counts who looks.
struct FakeClock {
  static inline std::int64_t time = 1;
  static inline int reads = 0;
  static std::int64_t now() noexcept {
    ++reads;
    return time;
  }
  FakeClock() { reads = 0, time = 1; }
};
using TestGauge = BasicGauge<FakeClock>;
using TestDelta = BasicDatedDelta<FakeClock>;
using TestFolded = BasicFoldedGauge<FakeClock>;

void add(TestDelta& delta, std::int64_t change) {
  delta.add(change);
  if (delta.is_due()) delta.date();
}

}  // namespace

TEST_CASE("a gauge knows when its peak was reached") {
  FakeClock clock;
  TestGauge gauge;
  CHECK(gauge.peak_at() == 0);
  clock.time = 10;
  gauge.set(1000);
  clock.time = 20;
  gauge.set(500);
  CHECK(gauge.peak_at() == 10);
  gauge.set(1000);  // no more than before
  CHECK(gauge.peak_at() == 10);
  gauge.set(1002);
  CHECK(gauge.peak() == 1002);
  CHECK(gauge.peak_at() == 20);
  CHECK(clock.reads == 2);
}

TEST_CASE("a peak that creeps up has the date at which it came within a thousandth") {
  FakeClock clock;
  TestGauge gauge;
  for (std::uint64_t value = 1; value <= 10'000'000; value += 100) {
    clock.time = static_cast<std::int64_t>(value);
    gauge.set(value);
  }
  CHECK(gauge.peak() == 9'999'901);
  CHECK(gauge.peak_at() > 9'999'901 - 9'999'901 / 1000);
  CHECK(clock.reads > 1000);
  CHECK(clock.reads < 7000);  // of 100,000
}

TEST_CASE("a fold dates the peak by when the stream reached it, not by when it folds") {
  FakeClock clock;
  TestFolded sum;
  TestDelta delta;
  clock.time = 10;
  add(delta, 4000);
  clock.time = 20;
  add(delta, -3000);
  clock.time = 30;
  CHECK(sum.peak_at() == 0);
  sum.fold(delta);
  CHECK(sum.current() == 1000);
  CHECK(sum.peak() == 4000);
  CHECK(sum.peak_at() == 10);
  CHECK(clock.reads == 1);

  // Up to the old peak nobody looks at the clock.
  clock.time = 40;
  for (int i = 0; i < 100; ++i) {
    add(delta, 3000);
    add(delta, -3000);
  }
  sum.fold(delta);
  CHECK(sum.peak_at() == 10);
  CHECK(clock.reads == 1);

  clock.time = 50;
  add(delta, 3100);
  clock.time = 60;
  sum.fold(delta);
  CHECK(sum.peak() == 4100);
  CHECK(sum.peak_at() == 50);
}

TEST_CASE("a rise by less than a thousandth keeps the date, many of them do not") {
  FakeClock clock;
  TestFolded sum;
  TestDelta delta;
  clock.time = 10;
  add(delta, 100'000);
  sum.fold(delta);
  clock.time = 20;
  add(delta, 50);
  sum.fold(delta);
  CHECK(sum.peak() == 100'050);
  CHECK(sum.peak_at() == 10);
  add(delta, 60);
  sum.fold(delta);
  CHECK(sum.peak() == 100'110);
  CHECK(sum.peak_at() == 20);
}

TEST_CASE("a growing stream reads the clock seldom") {
  FakeClock clock;
  TestFolded sum;
  TestDelta delta;
  for (int i = 0; i < 100'000; ++i) {
    clock.time = i + 1;
    add(delta, 256);
    if (i % 4096 == 0) sum.fold(delta);
  }
  clock.time = 200'000;
  sum.fold(delta);
  CHECK(sum.peak() == 25'600'000);
  CHECK(sum.peak_at() > 100'000 - 200);
  CHECK(sum.peak_at() <= 100'000);
  CHECK(clock.reads < 8000);
}

TEST_CASE("streams that reach a peak together date it by the fold at the latest") {
  FakeClock clock;
  TestFolded sum;
  TestDelta one, two;
  clock.time = 10;
  add(one, 1000);
  add(two, 10);
  sum.fold(one);
  sum.fold(two);
  clock.time = 20;
  add(one, -1000);
  add(two, -10);
  sum.fold(one);
  sum.fold(two);
  clock.time = 30;
  add(one, 600);
  add(two, 600);  // neither alone is above the peak
  clock.time = 40;
  sum.fold(one);
  sum.fold(two);
  CHECK(sum.peak() == 1200);
  CHECK(sum.peak_at() == 40);
}

TEST_CASE("the coarse clock goes on") {
  const std::int64_t first = CoarseClock::now();
  CHECK(first > 0);
  CHECK(CoarseClock::now() >= first);
  CHECK(CoarseClock::resolution_s() > 0);
  CHECK(CoarseClock::resolution_s() < 0.1);
}
