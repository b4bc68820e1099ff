#include "tools/forebay/replay_run.hpp"

#include "forebay/runtime/runtime.hpp"
#include "runtime/simulated/simulated_device.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;
using simulated::SimulatedDevice;

namespace {

pool::Trace sample(const char* name) {
  return pool::read_trace(std::string(FOREBAY_SOURCE_DIR "/tests/data/traces/") + name + ".csv.gz");
}

}  // namespace

TEST_CASE("passes add up to what the pool counts") {
  const pool::Trace trace = sample("streams_pipeline");
  const auto device = SimulatedDevice::open({}, 32);
  ReplayWork work;
  work.repeat = 3;
  work.timeline = &device->timeline();
  std::uint64_t progress = 0;
  const ReplayResult result =
      run_replay(trace, *device, work, [&](std::uint64_t done) { progress = done; });
  CHECK(result.outcome.completed);
  REQUIRE(result.passes.size() == 3);
  std::uint64_t calls = 0, us = 0, waits = 0;
  for (const ReplayPass& pass : result.passes) {
    calls += pass.driver_calls;
    us += pass.driver_us;
    waits += pass.host_waits;
    CHECK(pass.seconds > 0);
  }
  CHECK(calls == result.stats.driver_calls());
  CHECK(us == result.stats.driver_us());
  // Waits between passes, for the end of the one before, belong to none.
  CHECK(waits <= result.stats.host_waits);
  CHECK(waits == 0);  // there is memory to spare
  CHECK(result.passes[0].driver_calls > result.passes[2].driver_calls);
  CHECK(result.ns_per_event_p50 > 0);
  CHECK(result.ns_per_event_p99 >= result.ns_per_event_p50);
  CHECK(progress > 0);
  // What the trace leaves live is in the figures, and gone afterwards.
  CHECK(result.stats.allocations.live > 0);
  CHECK(device->pool().stats().allocations.live == 0);
}

TEST_CASE("a failing pass is the last one") {
  const pool::Trace trace = sample("streams_pipeline");
  Config config;
  config.pool.capacity = trace.peak_requested / 2;
  const auto device = SimulatedDevice::open(config, 32);
  ReplayWork work;
  work.repeat = 3;
  work.timeline = &device->timeline();
  const ReplayResult result = run_replay(trace, *device, work, [](std::uint64_t) {});
  CHECK_FALSE(result.outcome.completed);
  CHECK(result.passes.size() == 1);
  CHECK_FALSE(result.outcome.report.empty());
  CHECK(result.outcome.live_bytes <= config.pool.capacity);
  CHECK(result.stats.allocations.failed == 1);
}

TEST_CASE("on the host every block keeps its stamp") {
  Config config;
  config.pool.capacity = std::size_t{512} << 20;
  Runtime runtime = Runtime::create(config);
  // Sizes over four orders of magnitude, on four streams, smaller than the trace's own.
  pool::Trace trace = sample("streams_pipeline");
  for (pool::TraceEvent& event : trace.events) event.size /= 16;
  ReplayWork work;
  work.touch = true;
  const ReplayResult result = run_replay(trace, runtime.device("host"), work, [](std::uint64_t) {});
  CHECK(result.outcome.completed);
  CHECK_FALSE(result.lost_block);
}
