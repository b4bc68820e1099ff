#include "tools/forebay/replay_report.hpp"

#include "runtime/simulated/simulated_device.hpp"
#include "tests/support/catch.hpp"
#include "tools/forebay/json_reader.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

/// A report about a small trace with figures made up.
struct Fixture {
  std::string file = "job.csv";
  pool::Trace trace =
      pool::parse_trace("1000,alloc,1,4000,7\n1500,alloc,2,6000,7\n2000,free,1,0,7\n", "FILE");
  std::shared_ptr<simulated::SimulatedDevice> device = simulated::SimulatedDevice::open({}, 32);
  ReplayWork work;
  ReplayResult result;
  Fixture() {
    work.timeline = &device->timeline();
    result.outcome.completed = true;
    result.passes = {{5, 40, 1, 0, 0.5}, {0, 0, 0, 0, 0.25}};
    result.stats.held.peak = 20'000;
    result.stats.capacity = 30'000;
    result.stats.host_waits = 1;
    result.stats.driver.create = {5, 40};
    result.stats_json = "{\"schema\": \"forebay.stats/1\"}\n";
    result.ns_per_event_p50 = 50;
    result.ns_per_event_p99 = 150;
  }
  [[nodiscard]] ReplayReport report() const { return {file, trace, *device, work, 32, result}; }
};

}  // namespace

TEST_CASE("the JSON has every key, and its ratios are right") {
  const Fixture fixture;
  const JsonDocument json(replay_json(fixture.report()), "report");
  CHECK(json.text("/trace") == "job.csv");
  CHECK(json.text("/format") == "csv");
  CHECK(json.text("/device") == "simulated");
  CHECK(json.count("/events") == 3U);
  CHECK(json.flag("/completed") == true);
  CHECK(json.json("/failed_event") == "null");
  CHECK(json.json("/failure") == "null");
  CHECK(json.json("/lost_block") == "null");
  CHECK(json.count("/peak_requested") == 10'000U);
  CHECK(json.count("/peak_held") == 20'000U);
  CHECK(json.number("/held_over_requested") == 2.0);
  CHECK(json.count("/capacity") == 30'000U);
  CHECK(json.count("/device_syncs") == 0U);
  CHECK(json.count("/host_waits") == 1U);
  CHECK(json.count("/driver_calls/create") == 5U);
  CHECK(json.count("/driver_calls/unmap") == 0U);
  CHECK(json.count("/driver_us") == 40U);
  CHECK(json.count("/duration_us") == 1000U);
  CHECK(json.number("/driver_us_over_duration") == 0.02);  // of two passes
  CHECK(json.number("/ns_per_event_p50") == 50.0);
  CHECK(json.number("/ns_per_event_p99") == 150.0);
  CHECK(json.count("/event_lag") == 32U);
  REQUIRE(json.size("/passes") == 2);
  CHECK(json.number("/passes/0/driver_us_over_duration") == 0.04);
  CHECK(json.count("/passes/0/driver_calls") == 5U);
  CHECK(json.count("/passes/1/driver_calls") == 0U);
  CHECK(json.text("/stats/schema") == "forebay.stats/1");
  CHECK(replay_failure(fixture.report()).empty());
}

TEST_CASE("a failure is told with its event, the live bytes and the pool's report") {
  Fixture fixture;
  fixture.result.outcome = {false, 1, 4000, "pool: out of memory", "requested  6000\nheld  1\n"};
  const JsonDocument json(replay_json(fixture.report()), "report");
  CHECK(json.flag("/completed") == false);
  CHECK(json.count("/failed_event") == 2U);
  CHECK(json.text("/failure/action") == "alloc");
  CHECK(json.count("/failure/size") == 6000U);
  CHECK(json.count("/failure/stream") == 7U);
  CHECK(json.count("/failure/live_bytes") == 4000U);
  CHECK(json.text("/failure/report") == "requested  6000\nheld  1\n");
  CHECK(replay_failure(fixture.report()) ==
        "event 2, alloc of block 1 (6000 bytes) on stream 7, failed with 4000 bytes live: "
        "pool: out of memory");
  CHECK(replay_table(fixture.report()).find("\nrequested  6000\nheld  1\n") != std::string::npos);
}

TEST_CASE("a lost stamp is a failure too") {
  Fixture fixture;
  fixture.result.lost_block = 1;
  CHECK(replay_failure(fixture.report()) ==
        "event 2, alloc of block 1 (6000 bytes) on stream 7 with 10000 bytes live: the block lost "
        "its stamp; somebody else wrote into its memory while it was live");
  CHECK(JsonDocument(replay_json(fixture.report()), "report").count("/lost_block") == 1U);
}

TEST_CASE("the table is short") {
  const Fixture fixture;
  const std::string table = replay_table(fixture.report());
  CHECK(std::count(table.begin(), table.end(), '\n') <= 13);
  CHECK(table.find("2.0000 x requested") != std::string::npos);
  CHECK(table.find("2.000 % of the job's time") != std::string::npos);
}
