// What the policy files hold on traces of real jobs, on the simulated device: in how little memory
// a job completes, and what that costs. The runs are deterministic.
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

namespace {

const std::string kRoot = FOREBAY_SOURCE_DIR;

struct Run {
  double held = 0;          // at its peak, over the peak of requested bytes
  double driver_share = 0;  // of the job's duration
  std::uint64_t host_waits = 0;
  std::uint64_t device_syncs = 0;
};

JsonDocument replay_json(const std::string& trace, const std::string& policy,
                         const std::string& capacity, const std::string& repeat = "1",
                         const std::string& scale = "1") {
  std::vector<std::string> words{"replay",   kRoot + "/tests/data/traces/" + trace + ".csv.gz",
                                 "--config", kRoot + "/configs/" + policy + ".json",
                                 "--json",   "-",
                                 "--repeat", repeat,
                                 "--scale",  scale};
  if (!capacity.empty()) words.insert(words.end(), {"--capacity", capacity});
  const Outcome outcome = run_forebay(words);
  INFO(trace << " with " << policy << " in " << capacity << ": " << outcome.err);
  REQUIRE(outcome.code == 0);
  return JsonDocument(outcome.out, "output");
}

Run replay(const std::string& trace, const std::string& policy, const std::string& capacity,
           const std::string& scale = "1") {
  const JsonDocument json = replay_json(trace, policy, capacity, "1", scale);
  return {json.number("/held_over_requested").value(),
          json.number("/driver_us_over_duration").value(), json.count("/host_waits").value(),
          json.count("/device_syncs").value()};
}

const std::vector<std::string> kOneStream{"gpt2_varlen_train", "gpt2m_checkpoint_train",
                                          "moe_train"};

}  // namespace

TEST_CASE("low-fragmentation: a job on one stream runs in 2 % more than it asks for") {
  for (const std::string& trace : kOneStream) {
    const Run run = replay(trace, "low-fragmentation", "1.02x");
    CHECK(run.driver_share <= 0.06);
    CHECK(run.device_syncs == 0);
  }
  CHECK(replay("sweep_reinit", "low-fragmentation", "1.06x").device_syncs == 0);
}

TEST_CASE("low-fragmentation: so do jobs of other sizes, whose blocks end anywhere in a handle") {
  for (const std::string& trace : kOneStream) {
    for (const char* scale : {"0.7", "0.9", "1.3"}) {
      INFO(trace << " scaled by " << scale);
      const Run run = replay(trace, "low-fragmentation", "1.02x", scale);
      CHECK(run.driver_share <= 0.06);
      CHECK(run.device_syncs == 0);
    }
  }
}

TEST_CASE("low-fragmentation: jobs on several streams") {
  CHECK(replay("prefetch_train", "low-fragmentation", "1.05x").device_syncs == 0);
  CHECK(replay("streams_pipeline", "low-fragmentation", "1.25x").device_syncs == 0);
  CHECK(replay("overlap_streams", "low-fragmentation", "1.5x").device_syncs == 0);
}

TEST_CASE("default: a job on one stream in 5, 10 and 25 % more than it asks for") {
  for (const std::string& trace : kOneStream) {
    INFO(trace);
    CHECK(replay(trace, "default", "1.05x").device_syncs == 0);
    const Run ten = replay(trace, "default", "1.10x");
    CHECK(ten.driver_share <= 0.025);
    CHECK(ten.host_waits == 0);
    CHECK(replay(trace, "default", "1.25x").driver_share <= 0.01);
  }
  CHECK(replay("sweep_reinit", "default", "1.10x").device_syncs == 0);
}

TEST_CASE("default: so do jobs of other sizes") {
  for (const std::string& trace : kOneStream) {
    for (const char* scale : {"0.83", "1.3"}) {
      INFO(trace << " scaled by " << scale);
      CHECK(replay(trace, "default", "1.05x", scale).device_syncs == 0);
      const Run ten = replay(trace, "default", "1.10x", scale);
      CHECK(ten.driver_share <= 0.025);
      CHECK(ten.host_waits == 0);
    }
  }
}

TEST_CASE("default: jobs on several streams") {
  CHECK(replay("prefetch_train", "default", "1.10x").device_syncs == 0);
  CHECK(replay("streams_pipeline", "default", "1.4x").device_syncs == 0);
  CHECK(replay("overlap_streams", "default", "1.7x").device_syncs == 0);
}

TEST_CASE("default: a job that comes again in 25 % more than it asks for calls no driver") {
  for (const std::string& trace : kOneStream) {
    INFO(trace);
    const JsonDocument json = replay_json(trace, "default", "1.25x", "2");
    REQUIRE(json.size("/passes") == 2);
    CHECK(json.count("/passes/0/driver_calls").value() > 0);
    CHECK(json.count("/passes/1/driver_calls").value() == 0);
    CHECK(json.count("/passes/1/host_waits").value() == 0);
  }
}

TEST_CASE("with no limit a pool holds little more than its job asks for") {
  for (const std::string& trace : kOneStream) {
    INFO(trace);
    const Run common = replay(trace, "default", "");
    CHECK(common.held <= 1.20);
    CHECK(common.driver_share <= 0.01);
    CHECK(replay(trace, "low-fragmentation", "").held <= 1.08);
  }
}

TEST_CASE("low-latency: with no limit nothing moves, and the pool grows fewer times") {
  for (const std::string& trace : kOneStream) {
    INFO(trace);
    const JsonDocument fast = replay_json(trace, "low-latency", "");
    CHECK(fast.count("/driver_calls/unmap").value() == 0);
    CHECK(fast.count("/host_waits").value() == 0);
    // Calls of set_access are what a pool grows by.
    CHECK(fast.count("/driver_calls/set_access").value() <
          replay_json(trace, "default", "").count("/driver_calls/set_access").value());
  }
}

TEST_CASE("multi-stream: streams take from each other before memory is added") {
  for (const char* trace : {"prefetch_train", "overlap_streams", "streams_pipeline"}) {
    INFO(trace);
    CHECK(replay(trace, "multi-stream", "").held <= replay(trace, "default", "").held);
  }
}
