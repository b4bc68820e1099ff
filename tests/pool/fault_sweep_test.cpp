// Six scenarios in which each call of the source and of the timeline fails at each time at which it
// is made, once and for ever. Whatever fails, nothing is lost, and nothing is handed on early.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::kSanitised;
using forebay::pool::test::kTimeCalls;
using forebay::pool::test::Shadow;
using forebay::pool::test::TimeCall;
using forebay::pool::test::World;

namespace {

// A world with its shadow, whose steps may fail and are each followed by a look at everything.
class Stage {
 public:
  explicit Stage(const World::Config& config) : world(config), shadow_(*world.timeline) {}

  /// Null if there was no memory.
  void* allocate(std::size_t bytes, StreamId stream) {
    void* block = nullptr;
    try {
      block = world.pool.allocate(bytes, stream);
      const auto address = reinterpret_cast<Address>(block);
      REQUIRE(world.source->accessible(address, bytes));
      REQUIRE(shadow_.take(address, bytes, stream) == "");
      live_.emplace_back(block, stream);
    } catch (const OutOfMemory& error) {
      REQUIRE_FALSE(error.report().empty());
    }
    check();
    return block;
  }
  void free(void* block, StreamId stream) {
    if (block == nullptr) return;
    world.timeline->work(stream);
    shadow_.give(reinterpret_cast<Address>(block));
    REQUIRE(world.pool.try_deallocate(block, stream) == Misuse::none);
    std::erase_if(live_, [block](const auto& live) { return live.first == block; });
    check();
  }
  void use(void* block, StreamId stream) {
    if (block == nullptr) return;
    shadow_.use(reinterpret_cast<Address>(block), stream);
    REQUIRE(world.pool.record_use(block, stream) == Misuse::none);
  }
  void trim(std::size_t keep) {
    world.pool.trim(keep);
    check();
  }
  void free_all() {
    while (!live_.empty()) free(live_.back().first, live_.back().second);
  }
  /// The pool is sound, and the ledger of handles knows what the pool does.
  void check() const {
    REQUIRE(world.sound());
    const PoolStats stats = world.pool.stats();
    REQUIRE(stats.held.current == world.source->used_bytes());
    REQUIRE((stats.idle_handles.current > 0) >=
            (world.source->handles() > world.source->mappings()));
    REQUIRE(stats.allocations.live == live_.size());
  }

  World world;

 private:
  Shadow shadow_;
  std::vector<std::pair<void*, StreamId>> live_;
};

struct Scenario {
  const char* name;
  World::Config config;
  std::function<void(Stage&)> play;
};

void grow(Stage& stage) {
  for (const std::size_t bytes :
       {kMiB, 5 * kMiB, 3 * kMiB, std::size_t{5000}, 200 * kKiB, 9 * kMiB}) {
    stage.allocate(bytes, 1);
  }
}

void remap_at_the_limit(Stage& stage) {
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(stage.allocate(4 * kMiB, 1));
  for (std::size_t i = 0; i < blocks.size(); i += 2) stage.free(blocks[i], 1);
  stage.world.timeline->run_all();
  stage.allocate(10 * kMiB, 1);
  stage.allocate(2 * kMiB, 1);
}

void steal_from_several(Stage& stage) {
  void* first = stage.allocate(6 * kMiB, 1);
  void* second = stage.allocate(6 * kMiB, 2);
  void* shared = stage.allocate(8 * kMiB, 3);
  stage.use(shared, 1);
  stage.free(first, 1);
  stage.free(second, 2);
  void* both = stage.allocate(12 * kMiB, 3);
  stage.free(shared, 3);
  stage.allocate(7 * kMiB, 2);
  stage.free(both, 3);
  stage.allocate(10 * kMiB, 1);
}

void capture(Stage& stage) {
  void* before = stage.allocate(4 * kMiB, 1);
  const ArenaId arena = stage.world.capture(1);
  void* inside = stage.allocate(6 * kMiB, 1);
  void* small = stage.allocate(3000, 1);
  stage.free(before, 1);
  stage.free(inside, 1);
  stage.allocate(6 * kMiB, 1);
  void* other = stage.allocate(8 * kMiB, 2);
  stage.world.end_capture(1);
  stage.free(other, 2);
  stage.allocate(12 * kMiB, 2);
  stage.free(small, 1);
  stage.world.pool.drop_arena(arena);
  stage.check();
  stage.allocate(4 * kMiB, 2);
}

void trim_and_close(Stage& stage) {
  std::vector<void*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(stage.allocate(4 * kMiB + 4096, 1 + i % 2));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i != 2) stage.free(blocks[i], 1 + i % 2);
  }
  stage.trim(14 * kMiB);
  stage.allocate(9 * kMiB, 2);
  stage.trim(0);
}

void use_regions(Stage& stage) {
  remap_at_the_limit(stage);
  steal_from_several(stage);
  stage.trim(4 * kMiB);
  stage.allocate(6 * kMiB, 2);
}

std::vector<Scenario> scenarios() {
  const World::Config config{.capacity = 24 * kMiB,
                             .handle_size = 2 * kMiB,
                             .point_every_frees = 2,
                             .wait_limit_ms = 20,
                             .streams = 3};
  World::Config large = config, small = config, regions = config;
  large.capacity = 64 * kMiB;
  large.growth_step = 0.25;
  small.capacity = 20 * kMiB;
  regions.virtual_memory = false;
  return {{"growth", large, grow},
          {"remap at the limit", config, remap_at_the_limit},
          {"steal from several streams", small, steal_from_several},
          {"capture", small, capture},
          {"trim and close", config, trim_and_close},
          {"regions", regions, use_regions}};
}

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
  for (std::uint64_t nth = 1; nth <= calls; nth += kSanitised ? 4 : 1) {
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
    CHECK(runs > (kSanitised ? 10u : 40u));
  }
}
