#include "tools/forebay/batches.hpp"

#include "tests/support/catch.hpp"

using namespace forebay::tools;

TEST_CASE("a percentile is the value of its rank, of any order") {
  std::vector<float> values = {5, 1, 4, 2, 3};
  CHECK(percentile(values, 0.5) == 3);
  CHECK(percentile(values, 0.2) == 1);
  CHECK(percentile(values, 0.21) == 2);
  CHECK(percentile(values, 0.99) == 5);
  CHECK(percentile(values, 1) == 5);
  values = {7};
  CHECK(percentile(values, 0.01) == 7);
}

TEST_CASE("batches run until their time is over, they are full, or somebody stops them") {
  const auto start = Batches::Clock::now();
  const auto later = start + std::chrono::hours(1);
  std::atomic<bool> stop{false};
  std::size_t ran = 0;
  Batches none;
  none.run([&] { ++ran; }, start, stop);
  CHECK(none.times().size() == 1);
  CHECK(ran == 1);

  Batches full;
  const auto end = full.run([&] { ++ran; }, later, stop);
  CHECK(full.full());
  CHECK(ran == full.times().size() + 1);
  CHECK(full.times().size() >= 100'000);
  CHECK(end > start);
  CHECK(end < later);

  Batches stopped;
  ran = 0;
  stopped.run([&] { stop = ++ran == 5; }, later, stop);
  CHECK(stopped.times().size() == 5);
}

TEST_CASE("a batch counts as the time of one of its pairs") {
  Batches batches;
  batches.add(std::chrono::nanoseconds(16 * 250));
  CHECK(batches.times() == std::vector<float>{250});
}
