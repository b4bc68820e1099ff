#include "runtime/cuda/cuda_timeline.hpp"

#include <array>
#include <random>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/fake_context.hpp"

using namespace forebay;
using cuda::CudaTimeline;
using pool::Point;
using pool::StreamId;
using test::FakeContext;

namespace {

/// A timeline on a fake device, and streams that it knows.
struct TimelineBench {
  FakeContext fake;
  Counter events{0};
  CudaTimeline timeline{fake.context, events};

  ~TimelineBench() {
    timeline.close();
    CHECK(events == 0);
  }

  struct Lane {
    CUstream stream = nullptr;
    StreamId id = 0;
  };
  Lane lane() {
    Lane made;
    REQUIRE(fake.api->cuStreamCreate(&made.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    unsigned long long id = 0;
    REQUIRE(fake.api->cuStreamGetId(made.stream, &id) == CUDA_SUCCESS);
    made.id = id;
    timeline.add(made.id, made.stream);
    return made;
  }
};

}  // namespace

TEST_CASE("a point passes when its stream got there") {
  TimelineBench bench;
  const auto a = bench.lane();
  CHECK(bench.timeline.knows(a.id));
  CHECK_FALSE(bench.timeline.knows(a.id + 1000));
  bench.fake.driver.hold(a.stream);
  REQUIRE(bench.timeline.record(a.id, 1));
  REQUIRE(bench.timeline.record(a.id, 2));
  CHECK_FALSE(bench.timeline.passed(a.id, 1));
  CHECK(bench.fake.driver.step(a.stream));
  CHECK(bench.timeline.passed(a.id, 1));
  CHECK_FALSE(bench.timeline.passed(a.id, 2));
  bench.fake.driver.let_go(a.stream);
  CHECK(bench.timeline.passed(a.id, 2));
  CHECK(bench.timeline.passed(a.id, 1));  // and stays passed
}

TEST_CASE("a point that was never recorded has not passed") {
  TimelineBench bench;
  const auto a = bench.lane();
  CHECK_FALSE(bench.timeline.passed(a.id, 1));
  CHECK_FALSE(bench.timeline.synchronize(a.id, 1));
  REQUIRE(bench.timeline.record(a.id, 3));
  CHECK(bench.timeline.passed(a.id, 2));  // what comes before 3 is done with it
  CHECK_FALSE(bench.timeline.passed(a.id, 4));
}

TEST_CASE("passed points are not asked about again") {
  TimelineBench bench;
  const auto a = bench.lane();
  REQUIRE(bench.timeline.record(a.id, 1));
  CHECK(bench.timeline.passed(a.id, 1));
  const std::uint64_t before = bench.fake.api->calls();
  CHECK(bench.timeline.passed(a.id, 1));
  CHECK(bench.timeline.synchronize(a.id, 1));
  CHECK(bench.fake.api->calls() == before);
}

TEST_CASE("events are recycled: as many exist as points were outstanding at once") {
  TimelineBench bench;
  const auto a = bench.lane();
  const auto b = bench.lane();
  Point point = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto& lane = round % 2 == 0 ? a : b;
    REQUIRE(bench.timeline.record(lane.id, ++point));
    CHECK(bench.timeline.passed(lane.id, point));
  }
  CHECK(bench.events == 1);
  bench.fake.driver.hold(a.stream);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(bench.timeline.record(a.id, ++point));
  }
  CHECK(bench.events == 5);
  bench.timeline.forget(a.id, point);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(bench.timeline.record(b.id, ++point));
  }
  CHECK(bench.events == 5);
  bench.fake.driver.let_go(a.stream);
}

TEST_CASE("a stream waits for a point of another") {
  TimelineBench bench;
  const auto a = bench.lane();
  const auto b = bench.lane();
  bench.fake.driver.hold(a.stream);
  REQUIRE(bench.timeline.record(a.id, 1));
  REQUIRE(bench.timeline.wait(b.id, a.id, 1));
  REQUIRE(bench.timeline.record(b.id, 1));
  CHECK_FALSE(bench.timeline.passed(b.id, 1));
  // The event goes back and is recorded elsewhere; the wait still means the first recording.
  bench.timeline.forget(a.id, 1);
  const auto c = bench.lane();
  REQUIRE(bench.timeline.record(c.id, 1));
  CHECK(bench.timeline.passed(c.id, 1));
  CHECK_FALSE(bench.timeline.passed(b.id, 1));
  bench.fake.driver.let_go(a.stream);
  CHECK(bench.timeline.passed(b.id, 1));
}

TEST_CASE("waiting for what has passed, or for oneself, calls nothing") {
  TimelineBench bench;
  const auto a = bench.lane();
  const auto b = bench.lane();
  REQUIRE(bench.timeline.record(a.id, 1));
  CHECK(bench.timeline.passed(a.id, 1));
  const std::uint64_t waits = bench.fake.api->cuStreamWaitEvent.calls();
  CHECK(bench.timeline.wait(b.id, a.id, 1));
  CHECK(bench.timeline.wait(a.id, a.id, 7));
  CHECK(bench.fake.api->cuStreamWaitEvent.calls() == waits);
  CHECK_FALSE(bench.timeline.wait(b.id, a.id, 2));  // never recorded
}

TEST_CASE("the host waits for a point, not for what comes after it") {
  TimelineBench bench;
  const auto a = bench.lane();
  bench.fake.driver.hold(a.stream);
  REQUIRE(bench.timeline.record(a.id, 1));
  REQUIRE(bench.timeline.record(a.id, 2));
  CHECK(bench.timeline.synchronize(a.id, 1));
  CHECK(bench.timeline.passed(a.id, 1));
  CHECK_FALSE(bench.timeline.passed(a.id, 2));
  bench.fake.driver.let_go(a.stream);
}

TEST_CASE("a stream that is gone keeps its points until they have passed") {
  TimelineBench bench;
  const auto gate = bench.lane();
  const auto a = bench.lane();
  bench.fake.driver.hold(gate.stream);
  REQUIRE(bench.timeline.record(gate.id, 1));
  REQUIRE(bench.timeline.wait(a.id, gate.id, 1));
  REQUIRE(bench.timeline.record(a.id, 1));
  bench.timeline.remove(a.id);
  CHECK(bench.fake.api->cuStreamDestroy(a.stream) == CUDA_SUCCESS);
  CHECK_FALSE(bench.timeline.knows(a.id));
  CHECK_FALSE(bench.timeline.record(a.id, 2));
  CHECK_FALSE(bench.timeline.passed(a.id, 1));
  bench.fake.driver.let_go(gate.stream);
  CHECK(bench.timeline.passed(a.id, 1));
  CHECK(bench.timeline.passed(a.id, 1));
  CHECK(bench.timeline.wait(gate.id, a.id, 1));
}

TEST_CASE("a capture is seen, and no call about other streams ends it") {
  TimelineBench bench;
  const auto capturing = bench.lane();
  const auto a = bench.lane();
  const auto b = bench.lane();
  REQUIRE(bench.timeline.record(a.id, 1));
  REQUIRE(bench.fake.api->cuStreamBeginCapture(capturing.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
          CUDA_SUCCESS);
  CHECK(bench.timeline.capturing(capturing.id));
  CHECK_FALSE(bench.timeline.capturing(a.id));
  CHECK(bench.timeline.passed(a.id, 1));
  CHECK(bench.timeline.record(a.id, 2));
  CHECK(bench.timeline.wait(b.id, a.id, 2));
  CHECK(bench.timeline.synchronize(a.id, 2));
  std::thread([&] {
    CHECK(bench.timeline.record(b.id, 1));
    CHECK(bench.timeline.passed(b.id, 1));
  }).join();
  CUgraph graph = nullptr;
  CHECK(bench.fake.api->cuStreamEndCapture(capturing.stream, &graph) == CUDA_SUCCESS);
  CHECK_FALSE(bench.timeline.capturing(capturing.id));
}

TEST_CASE("failed calls answer false and lose no event") {
  TimelineBench bench;
  const auto a = bench.lane();
  const auto b = bench.lane();
  bench.fake.driver.fail("cuEventCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_FALSE(bench.timeline.record(a.id, 1));
  bench.fake.driver.fail("cuEventRecord", 1, CUDA_ERROR_UNKNOWN);
  CHECK_FALSE(bench.timeline.record(a.id, 1));
  CHECK(bench.events == 1);
  REQUIRE(bench.timeline.record(a.id, 1));
  CHECK(bench.events == 1);
  bench.fake.driver.fail("cuEventQuery", 1, CUDA_ERROR_UNKNOWN);
  CHECK_FALSE(bench.timeline.passed(a.id, 1));
  bench.fake.driver.fail("cuStreamWaitEvent", 1, CUDA_ERROR_UNKNOWN);
  CHECK_FALSE(bench.timeline.wait(b.id, a.id, 1));
  bench.fake.driver.fail("cuEventSynchronize", 1, CUDA_ERROR_UNKNOWN);
  CHECK_FALSE(bench.timeline.synchronize(a.id, 1));
  bench.fake.driver.fail("cuStreamIsCapturing", 1, CUDA_ERROR_UNKNOWN);
  CHECK_FALSE(bench.timeline.capturing(a.id));
  CHECK(bench.timeline.passed(a.id, 1));
}

TEST_CASE("closing destroys every event, and a closed timeline calls nothing") {
  TimelineBench bench;
  const auto a = bench.lane();
  bench.fake.driver.hold(a.stream);
  REQUIRE(bench.timeline.record(a.id, 1));
  REQUIRE(bench.timeline.record(a.id, 2));
  bench.timeline.close();
  CHECK(bench.events == 0);
  CHECK(bench.fake.driver.leaks() == "1 streams, 1 retained contexts");
  const std::uint64_t before = bench.fake.api->calls();
  CHECK_FALSE(bench.timeline.knows(a.id));
  CHECK_FALSE(bench.timeline.record(a.id, 3));
  CHECK(bench.fake.api->calls() == before);
}

TEST_CASE("whatever order streams run in, a point passes exactly when its stream got there") {
  TimelineBench bench;
  constexpr std::size_t kLanes = 4;
  struct Model {
    TimelineBench::Lane lane;
    Point recorded = 0;
    Point done = 0;  // pieces of work that ran: each is one point
    Point forgotten = 0;
  };
  std::array<Model, kLanes> lanes;
  for (Model& model : lanes) {
    model.lane = bench.lane();
    bench.fake.driver.hold(model.lane.stream);
  }
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 20000; ++round) {
    Model& model = lanes[below(kLanes)];
    switch (below(4)) {
      case 0:
        REQUIRE(bench.timeline.record(model.lane.id, ++model.recorded));
        break;
      case 1:
        if (bench.fake.driver.step(model.lane.stream)) {
          ++model.done;
        }
        break;
      case 2:
        if (model.recorded > model.forgotten) {
          const Point point = model.forgotten + 1 + below(model.recorded - model.forgotten);
          REQUIRE(bench.timeline.passed(model.lane.id, point) == (point <= model.done));
        }
        break;
      default:
        if (model.done > model.forgotten && below(8) == 0) {
          model.forgotten = model.done;
          bench.timeline.forget(model.lane.id, model.forgotten);
        }
        break;
    }
  }
  CHECK(lanes[0].done > 1000);
  for (const Model& model : lanes) {
    bench.fake.driver.let_go(model.lane.stream);
  }
}
