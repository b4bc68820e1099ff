#include "forebay/pool/lagged_timeline.hpp"

#include "tests/support/catch.hpp"

using namespace forebay::pool;

TEST_CASE("a point passes so many ticks after it was recorded") {
  for (const std::uint64_t lag : {0U, 1U, 2U, 32U}) {
    LaggedTimeline timeline(lag);
    const StreamId stream = timeline.add_stream();
    timeline.tick();
    REQUIRE(timeline.record(stream, 1));
    for (std::uint64_t ticks = 0; ticks < lag; ++ticks) {
      CHECK_FALSE(timeline.passed(stream, 1));
      timeline.tick();
    }
    CHECK(timeline.passed(stream, 1));
  }
}

TEST_CASE("a host wait ends what was recorded before, on every stream") {
  LaggedTimeline timeline(1000);
  const StreamId first = timeline.add_stream();
  const StreamId second = timeline.add_stream();
  CHECK(first != second);
  timeline.tick();
  CHECK(timeline.record(first, 1));
  timeline.tick();
  CHECK(timeline.record(second, 1));
  timeline.tick();
  CHECK(timeline.record(first, 2));
  CHECK(timeline.synchronize(second, 1));
  CHECK(timeline.passed(first, 1));
  CHECK(timeline.passed(second, 1));
  CHECK_FALSE(timeline.passed(first, 2));
}

TEST_CASE("a stream that waits passes later points no sooner than what it waited for") {
  LaggedTimeline timeline(10);
  const StreamId first = timeline.add_stream();
  const StreamId second = timeline.add_stream();
  CHECK(timeline.record(first, 1));
  timeline.tick();
  CHECK(timeline.wait(second, first, 1));
  CHECK(timeline.record(second, 1));
  for (int i = 0; i < 30; ++i) {
    if (timeline.passed(second, 1)) CHECK(timeline.passed(first, 1));
    timeline.tick();
  }
  CHECK(timeline.passed(second, 1));
}

TEST_CASE("what was never recorded has not passed, and nothing waits for it") {
  LaggedTimeline timeline(0);
  const StreamId stream = timeline.add_stream();
  CHECK(timeline.knows(stream));
  CHECK_FALSE(timeline.knows(stream + 1));
  CHECK_FALSE(timeline.capturing(stream));
  CHECK_FALSE(timeline.record(stream + 1, 1));
  CHECK(timeline.record(stream, 1));
  CHECK_FALSE(timeline.passed(stream, 2));
  CHECK_FALSE(timeline.passed(stream + 1, 1));
  CHECK_FALSE(timeline.wait(stream, stream, 2));
  CHECK_FALSE(timeline.wait(stream + 1, stream, 1));
  CHECK_FALSE(timeline.synchronize(stream, 2));
}

TEST_CASE("forgotten points cost nothing") {
  LaggedTimeline timeline(5);
  const StreamId stream = timeline.add_stream();
  for (Point point = 1; point <= 1000; ++point) {
    timeline.tick();
    CHECK(timeline.record(stream, point));
    timeline.forget(stream, point - std::min<Point>(point, 10));
    CHECK(timeline.live_points() <= 11);
  }
  timeline.forget(stream, 1000);
  CHECK(timeline.live_points() == 0);
  timeline.forget(stream + 1, 3);
}
