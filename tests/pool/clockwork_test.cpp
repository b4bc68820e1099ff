#include "pool/clockwork.hpp"

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "forebay/pool/pool.hpp"
#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;

namespace {

// Calls a hook between the moment a point's number is taken and the moment it is recorded.
class HookedTimeline final : public Timeline {
 public:
  explicit HookedTimeline(SimulatedTimeline& inner) : inner_(inner) {}
  std::function<void()> before_record;

  bool knows(StreamId stream) const noexcept override { return inner_.knows(stream); }
  bool capturing(StreamId stream) const noexcept override { return inner_.capturing(stream); }
  bool record(StreamId stream, Point point) noexcept override {
    if (before_record) std::exchange(before_record, {})();
    return inner_.record(stream, point);
  }
  bool passed(StreamId stream, Point point) noexcept override {
    return inner_.passed(stream, point);
  }
  bool wait(StreamId waiter, StreamId stream, Point point) noexcept override {
    return inner_.wait(waiter, stream, point);
  }
  bool synchronize(StreamId stream, Point point) noexcept override {
    return inner_.synchronize(stream, point);
  }
  void forget(StreamId stream, Point point) noexcept override { inner_.forget(stream, point); }

 private:
  SimulatedTimeline& inner_;
};

struct ClockworkBench {
  ClockworkBench() {
    timeline.add_stream(10);
    timeline.add_stream(20);
    a.stream = 10;
    b.stream = 20;
    a.open = b.open = true;
  }
  // A free: it carries the next point.
  Point free_on(StreamState& state) {
    ++state.uncovered;
    return state.next_point;
  }
  SimulatedTimeline timeline;
  Clockwork clockwork{timeline};
  StreamState a{1}, b{2};
};

}  // namespace

TEST_CASE("a point covers the frees that carry it, and the next free carries the next one") {
  ClockworkBench bench;
  CHECK(bench.free_on(bench.a) == 1);
  CHECK(bench.clockwork.try_record(bench.a));
  CHECK(bench.a.uncovered == 0);
  CHECK(bench.free_on(bench.a) == 2);
  bench.timeline.work(10);
  CHECK(bench.clockwork.poll(bench.a) == false);
  bench.timeline.run(10);
  CHECK(bench.clockwork.poll(bench.a));
  // The poll found the first passed, recorded the second behind the work, and found it passing not
  // yet.
  CHECK(bench.a.passed >= 1);
  bench.timeline.run_all();
  bench.clockwork.poll(bench.a);
  CHECK(bench.a.passed == 2);
  CHECK(bench.timeline.live_points() == 0);
  CHECK(bench.timeline.violations().empty());
}

TEST_CASE("a number whose record failed is covered by the next point") {
  ClockworkBench bench;
  const Point point = bench.free_on(bench.a);
  bench.timeline.fail_records(1);
  CHECK_FALSE(bench.clockwork.try_record(bench.a));
  CHECK(bench.a.uncovered > 0);
  CHECK(bench.clockwork.poll(bench.a) == false);
  bench.timeline.run_all();
  CHECK(bench.clockwork.poll(bench.a));
  CHECK(bench.a.passed >= point);
}

TEST_CASE("passed points are found by few questions") {
  ClockworkBench bench;
  for (int i = 0; i < 40; ++i) {
    bench.timeline.work(10);
    bench.free_on(bench.a);
    REQUIRE(bench.clockwork.try_record(bench.a));
  }
  // Thirty of the forty have passed.
  bench.timeline.run(10, 60);
  const std::uint64_t before = bench.timeline.queries();
  CHECK(bench.clockwork.poll(bench.a));
  CHECK(bench.timeline.queries() - before <= 12);
  CHECK(bench.a.passed == 30);
  // All that has passed is known now, so that without more work a second look tells no more.
  CHECK_FALSE(bench.clockwork.poll(bench.a));
  // On an idle stream one question settles all.
  bench.timeline.run_all();
  const std::uint64_t idle = bench.timeline.queries();
  CHECK(bench.clockwork.poll(bench.a));
  CHECK(bench.timeline.queries() - idle == 1);
  CHECK(bench.a.passed == 40);
}

TEST_CASE("points under way are bounded") {
  ClockworkBench bench;
  for (int i = 0; i < 1000; ++i) {
    bench.free_on(bench.a);
    bench.clockwork.try_record(bench.a);
  }
  CHECK(bench.a.recorded.size() <= 64);
  CHECK(bench.timeline.live_points() <= 64);
}

TEST_CASE("a wait uses the first point that covers, and records one only if none does") {
  ClockworkBench bench;
  for (int i = 0; i < 3; ++i) {
    bench.timeline.work(10);
    bench.free_on(bench.a);
    bench.clockwork.try_record(bench.a);
  }
  CHECK(bench.clockwork.await(bench.b, bench.a, 2));
  CHECK(bench.timeline.ordered(20, 10, 2));
  CHECK_FALSE(bench.timeline.ordered(20, 10, 3));
  const Point unrecorded = bench.free_on(bench.a);
  CHECK(bench.clockwork.await(bench.b, bench.a, unrecorded));
  CHECK(bench.timeline.ordered(20, 10, 3));
  CHECK(bench.a.points_recorded == 4);
  bench.timeline.set_capturing(10, true);
  CHECK_FALSE(bench.clockwork.await(bench.b, bench.a, bench.free_on(bench.a)));
  CHECK_FALSE(bench.clockwork.try_record(bench.a));
  CHECK_FALSE(bench.clockwork.synchronize_oldest(bench.a));
  CHECK(bench.timeline.violations().empty());
}

// If a free that comes while a point is being recorded carried that point, its work would not be
// covered: the point may be recorded in front of it.
TEST_CASE("a free during a record carries the point after it") {
  SimulatedTimeline inner;
  inner.add_stream(1);
  inner.add_stream(2);
  auto timeline = std::make_shared<HookedTimeline>(inner);
  PoolConfig config;
  config.capacity = 8 * kMiB;
  config.point_every_frees = 1;
  Pool pool(std::make_shared<SimulatedSource>(SimulatedSource::Options{}), timeline, config);
  void* first = pool.allocate(4 * kMiB, 1);
  void* second = pool.allocate(4 * kMiB, 1);
  std::uint64_t late = 0;
  timeline->before_record = [&] {
    // Another thread, as the one that records is in the middle of it.
    std::thread([&] {
      late = inner.work(1);
      pool.deallocate(second, 1);
    }).join();
  };
  pool.deallocate(first, 1);
  REQUIRE(late == 1);
  // Everything up to the recorded point has passed: `first` is free, `second` is not.
  (void)pool.allocate(4 * kMiB, 2);
  void* other = pool.allocate(4 * kMiB, 2);
  CHECK(other == second);
  CHECK(inner.ordered(2, 1, late));
  CHECK(inner.violations().empty());
  CHECK(pool.validate() == "");
}
