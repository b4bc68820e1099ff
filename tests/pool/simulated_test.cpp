#include "forebay/pool/simulated.hpp"

#include "pool/cost_model.hpp"
#include "pool/units.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

TEST_CASE("the source refuses what the driver refuses, and says so") {
  SimulatedSource source(SimulatedSource::Options{});
  Address base = 0;
  REQUIRE(source.reserve(64 * kMiB, &base).ok());
  Handle a = 0, b = 0;
  REQUIRE(source.create(4 * kMiB, &a).ok());
  REQUIRE(source.create(4 * kMiB, &b).ok());
  CHECK_FALSE(source.create(kMiB, &b).ok());                    // no whole granule
  CHECK_FALSE(source.map(base, 2 * kMiB, a).ok());              // a part
  CHECK_FALSE(source.map(base + kMiB, 4 * kMiB, a).ok());       // between granules
  CHECK_FALSE(source.map(base + 62 * kMiB, 4 * kMiB, a).ok());  // beyond the reservation
  REQUIRE(source.map(base, 4 * kMiB, a).ok());
  CHECK_FALSE(source.map(base + 8 * kMiB, 4 * kMiB, a).ok());  // mapped already
  CHECK_FALSE(source.map(base + 2 * kMiB, 4 * kMiB, b).ok());  // over another
  CHECK_FALSE(source.accessible(base, 1));
  CHECK_FALSE(source.set_access(base, 8 * kMiB).ok());
  REQUIRE(source.set_access(base, 4 * kMiB).ok());
  CHECK(source.accessible(base, 4 * kMiB));
  CHECK_FALSE(source.accessible(base, 4 * kMiB + 1));
  CHECK_FALSE(source.release(a, 4 * kMiB).ok());        // while mapped
  CHECK_FALSE(source.unmap(base, 2 * kMiB).ok());       // a part
  CHECK_FALSE(source.unreserve(base, 64 * kMiB).ok());  // while mapped
  REQUIRE(source.unmap(base, 4 * kMiB).ok());
  CHECK_FALSE(source.accessible(base, 1));
  CHECK_FALSE(source.release(a, 2 * kMiB).ok());
  REQUIRE(source.release(a, 4 * kMiB).ok());
  CHECK_FALSE(source.release(a, 4 * kMiB).ok());
  REQUIRE(source.release(b, 4 * kMiB).ok());
  REQUIRE(source.unreserve(base, 64 * kMiB).ok());
  CHECK(source.violations().size() == 12);
  CHECK(source.used_bytes() == 0);
}

TEST_CASE("memory ends where the device ends") {
  SimulatedSource source(SimulatedSource::Options{.total = 8 * kMiB});
  Handle handle = 0;
  REQUIRE(source.create(6 * kMiB, &handle).ok());
  CHECK(source.create(4 * kMiB, &handle).outcome == Outcome::out_of_memory);
  CHECK(source.free_bytes() == 2 * kMiB);
  Address address = 0;
  CHECK(source.allocate_region(3 * kMiB, &address).outcome == Outcome::out_of_memory);
  CHECK(source.allocate_region(1001, &address).ok());
  CHECK(source.free_bytes() == 2 * kMiB - 1001);
  CHECK(source.violations().empty());
}

TEST_CASE("a call fails at its n-th time, once or for ever") {
  SimulatedSource source(SimulatedSource::Options{});
  Handle handle = 0;
  source.fail(SourceCall::create, 2, false);
  CHECK(source.create(2 * kMiB, &handle).ok());
  CHECK(source.create(2 * kMiB, &handle).outcome == Outcome::failed);
  CHECK(source.create(2 * kMiB, &handle).ok());
  source.fail(SourceCall::create, 1, true, Outcome::out_of_memory);
  CHECK(source.create(2 * kMiB, &handle).outcome == Outcome::out_of_memory);
  CHECK(source.create(2 * kMiB, &handle).outcome == Outcome::out_of_memory);
  source.fail(SourceCall::create, 0, false);
  CHECK(source.create(2 * kMiB, &handle).ok());
  CHECK(source.calls(SourceCall::create) == 6);
}

TEST_CASE("calls cost what they were measured to cost") {
  CHECK(cost::kCreate.at(kMiB) == Approx(15.0));
  CHECK(cost::kRelease.at(2 * kMiB) == Approx(12.7));
  CHECK(cost::kRelease.at(8 * kMiB) == Approx(12.7 + (28.4 - 12.7) / 2));
  CHECK(cost::kRelease.at(256 * kMiB) == Approx(134.4));
  CHECK(cost::kUnmap.at(2048 * kMiB) == Approx(59.6));
  SimulatedSource source(SimulatedSource::Options{});
  Address base = 0;
  Handle a = 0, b = 0;
  source.reserve(64 * kMiB, &base);
  source.create(2 * kMiB, &a);
  source.create(2 * kMiB, &b);
  source.map(base, 2 * kMiB, a);
  source.map(base + 2 * kMiB, 2 * kMiB, b);
  // Access costs by handle, not by bytes, in one call too.
  source.set_access(base, 4 * kMiB);
  CHECK(source.modelled_us() == Approx(36.0 + 2 * 15.0 + 2 * 1.0 + 2 * 27.0));
}

TEST_CASE("points pass when the stream gets there, and waits hold a stream back") {
  SimulatedTimeline timeline;
  timeline.add_stream(1);
  timeline.add_stream(2);
  timeline.work(1);
  REQUIRE(timeline.record(1, 1));
  REQUIRE(timeline.wait(2, 1, 1));
  timeline.work(2);
  REQUIRE(timeline.record(2, 1));
  CHECK(timeline.run(2) == 0);
  CHECK_FALSE(timeline.passed(2, 1));
  CHECK(timeline.run(1, 1) == 1);
  CHECK_FALSE(timeline.passed(1, 1));
  CHECK(timeline.run(1) == 1);
  CHECK(timeline.passed(1, 1));
  CHECK(timeline.run(2) == 3);
  CHECK(timeline.passed(2, 1));
  timeline.forget(1, 1);
  timeline.forget(2, 1);
  CHECK(timeline.live_points() == 0);
  CHECK(timeline.violations().empty());
}

TEST_CASE("order comes from streams, waits and what the host was told") {
  SimulatedTimeline timeline;
  for (const StreamId stream : {1, 2, 3}) timeline.add_stream(stream);
  const auto first = timeline.work(1);
  timeline.record(1, 1);
  const auto second = timeline.work(1);
  CHECK(timeline.ordered(1, 1, second));
  CHECK_FALSE(timeline.ordered(2, 1, first));
  timeline.wait(2, 1, 1);
  CHECK(timeline.ordered(2, 1, first));
  CHECK_FALSE(timeline.ordered(2, 1, second));
  // Through another stream: 3 waits for 2, which waited for 1.
  timeline.record(2, 1);
  timeline.wait(3, 2, 1);
  CHECK(timeline.ordered(3, 1, first));
  // That it is done is no order; that the host knows it is.
  timeline.run_all();
  CHECK_FALSE(timeline.ordered(2, 1, second));
  timeline.record(1, 2);
  REQUIRE(timeline.synchronize(1, 2));
  CHECK(timeline.ordered(2, 1, second));
}

TEST_CASE("a capture, a wrong order and two calls at a time are violations") {
  SimulatedTimeline timeline;
  timeline.add_stream(1);
  timeline.record(1, 2);
  timeline.record(1, 2);
  CHECK(timeline.violations().size() == 1);
  timeline.set_capturing(1, true);
  CHECK(timeline.capturing(1));
  timeline.record(1, 3);
  (void)timeline.passed(1, 2);
  CHECK(timeline.violations().size() == 3);
  CHECK_FALSE(timeline.passed(1, 9));
  CHECK(timeline.violations().size() >= 4);
}

TEST_CASE("on an immediate timeline every recorded point has passed") {
  SimulatedTimeline timeline(true);
  timeline.add_stream(1);
  timeline.work(1);
  timeline.record(1, 1);
  CHECK(timeline.passed(1, 1));
}
