// Six scenarios in which each call of the source and of the timeline fails at each time at which it
// is made, once and for ever. Whatever fails, nothing is lost, and nothing is handed on early.
#include <cstdint>
#include <utility>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/stage.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::kTimeCalls;
using forebay::pool::test::Scenario;
using forebay::pool::test::scenarios;
using forebay::pool::test::Stage;
using forebay::pool::test::TimeCall;

namespace {

// What can fail: a call of the source, or of the timeline.
struct Call {
  bool time;
  std::size_t number;
};

void inject(Stage& stage, const Call& call, std::uint64_t nth, bool for_ever, Outcome outcome) {
  if (call.time) {
    stage.world.hooks->fail(static_cast<TimeCall>(call.number), nth, for_ever);
  } else {
    stage.world.source->fail(static_cast<SourceCall>(call.number), nth, for_ever, outcome);
  }
}
std::uint64_t made(const Stage& stage, const Call& call) {
  return call.time ? stage.world.hooks->calls(static_cast<TimeCall>(call.number))
                   : stage.world.source->calls(static_cast<SourceCall>(call.number));
}

// Lifts the fault: everything comes back, and the pool works as before.
void recover(Stage& stage, const Call& call) {
  inject(stage, call, 0, false, Outcome::failed);
  stage.free_all();
  for (const StreamId stream : {1, 2, 3}) {
    // Arenas keep what they have until their streams go.
    REQUIRE(stage.world.pool.retire_stream(stream));
  }
  stage.world.timeline->run_all();
  stage.trim(0);
  REQUIRE(stage.world.pool.stats().held.current == 0);
  REQUIRE(stage.world.pool.stats().pending.current == 0);
  REQUIRE(stage.world.source->handles() + stage.world.source->regions() == 0);
  REQUIRE(stage.allocate(18 * kMiB, 1) != nullptr);
  stage.free_all();
}

void close(Stage& stage) {
  stage.world.pool.close();
  REQUIRE(check_identities(stage.world.pool.stats()) == "");
  REQUIRE(stage.world.source->violations().empty());
  REQUIRE(stage.world.timeline->violations().empty());
}

std::size_t sweep(const Scenario& scenario, const Call& call, std::uint64_t calls) {
  std::size_t runs = 0;
  for (std::uint64_t nth = 1; nth <= calls; nth += by_build(1, 4, 16)) {
    for (const bool for_ever : {false, true}) {
      for (const Outcome outcome : {Outcome::failed, Outcome::out_of_memory}) {
        if (call.time && outcome != Outcome::failed) continue;
        INFO(scenario.name << ", " << (call.time ? "time" : "source") << " call " << call.number
                           << " at its " << nth << ". time" << (for_ever ? " and for ever" : ""));
        {
          Stage stage(scenario.config);
          inject(stage, call, nth, for_ever, outcome);
          scenario.play(stage);
          recover(stage, call);
          close(stage);
          REQUIRE(stage.world.source->used_bytes() == 0);
          REQUIRE(stage.world.source->reservations() == 0);
        }
        {
          // Closed while calls still fail: what cannot be given back is said, not lost silently.
          Stage stage(scenario.config);
          inject(stage, call, nth, for_ever, outcome);
          scenario.play(stage);
          close(stage);
          const bool lost =
              stage.world.source->used_bytes() + stage.world.source->reservations() > 0;
          if (lost) REQUIRE(stage.world.logged("pool: closing: "));
        }
        ++runs;
      }
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("each call may fail at each of its times in six scenarios") {
  for (const Scenario& scenario : scenarios()) {
    INFO(scenario.name);
    std::vector<std::pair<Call, std::uint64_t>> calls;
    {
      Stage clean(scenario.config);
      scenario.play(clean);
      clean.free_all();
      clean.trim(0);
      clean.world.pool.close();
      for (std::size_t number = 0; number < kSourceCalls; ++number) {
        // Without its addresses there is no pool; that is a test of its own.
        if (static_cast<SourceCall>(number) == SourceCall::reserve) continue;
        calls.emplace_back(Call{false, number}, made(clean, {false, number}));
      }
      for (std::size_t number = 0; number < kTimeCalls; ++number) {
        calls.emplace_back(Call{true, number}, made(clean, {true, number}));
      }
    }
    std::size_t runs = 0;
    for (const auto& [call, count] : calls) runs += sweep(scenario, call, count);
    CHECK(runs > (by_build(40u, 10u, 5u)));
  }
}
