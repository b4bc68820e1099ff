// Scenarios in which each allocation of host memory that the pool makes fails, once and with all
// that follow it. Nothing is lost, nothing is nobody's, and nothing is handed on early.
#include <cstdint>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/host_memory.hpp"
#include "tests/pool/stage.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::enrich;
using forebay::pool::test::ScarceMemory;
using forebay::pool::test::Scenario;
using forebay::pool::test::scenarios;
using forebay::pool::test::Stage;
using forebay::pool::test::World;

namespace {

void require_nothing_held(Stage& stage) {
  stage.world.timeline->run_all();
  stage.world.pool.trim();
  stage.check();
  const PoolStats stats = stage.world.pool.stats();
  REQUIRE(stats.held.current == 0);
  REQUIRE(stats.pending.current == 0);
  REQUIRE(stats.errors.wrong_device == 0);
  REQUIRE(stage.world.source->handles() + stage.world.source->regions() == 0);
}

// With memory again, everything comes back, whether its streams go or not, and the pool closes.
void recover(Stage& stage) {
  stage.free_all();
  require_nothing_held(stage);
  for (const StreamId stream : {1, 2, 3}) {
    REQUIRE(stage.world.pool.retire_stream(stream));
    stage.world.timeline->remove_stream(stream);
  }
  require_nothing_held(stage);
  stage.world.pool.close();
  REQUIRE(stage.world.source->reservations() == 0);
  REQUIRE(stage.world.source->violations().empty());
}

std::uint64_t fail_each(const Scenario& scenario, bool for_ever) {
  for (std::uint64_t nth = 1;; nth += by_build(1, 9, 40)) {
    INFO(scenario.name << ": allocation " << nth
                       << (for_ever ? " and all after it fail" : " fails"));
    ScarceMemory memory(nth, for_ever);
    {
      Stage stage(scenario.config, &memory);
      scenario.play(stage);
      recover(stage);
    }
    if (!memory.failed()) return nth;
  }
}

// Debug modes and the recorder around the same.
std::vector<Scenario> watched(std::vector<Scenario> plain) {
  for (Scenario& scenario : plain) {
    World::Config& config = scenario.config;
    config.tools = config.fill = true;
    config.canary = 64;
    config.quarantine = 100 * kKiB;
    config.trace_ring_bytes = 256;
    if (config.virtual_memory) config.guard_sample = 3;
  }
  return plain;
}

}  // namespace

TEST_CASE("no allocation that lacks host memory leaves anything behind") {
  for (const Scenario& scenario : scenarios()) {
    for (const bool for_ever : {false, true}) CHECK(fail_each(scenario, for_ever) > 10);
  }
}

TEST_CASE("none does where blocks are noted, guarded and kept in quarantine") {
  for (const Scenario& scenario : watched(scenarios())) {
    for (const bool for_ever : {false, true}) CHECK(fail_each(scenario, for_ever) > 10);
  }
}

TEST_CASE("a pool closes whatever host memory there is") {
  for (const bool for_ever : {false, true}) {
    for (std::uint64_t nth = 1;; ++nth) {
      INFO("allocation " << nth << (for_ever ? " and all after it fail" : " fails"));
      ScarceMemory memory(nth, for_ever);
      World world;
      enrich(world);
      std::vector<void*> blocks;
      for (const std::size_t bytes : {kKiB, 300 * kKiB, 3 * kMiB}) {
        for (int i = 0; i < 13; ++i) blocks.push_back(world.pool.allocate(bytes, 1));
      }
      world.pool.deallocate(blocks.back(), 2);
      memory.of_action([&] { world.pool.close(); });
      REQUIRE(check_identities(world.pool.stats()) == "");
      REQUIRE(world.source->used_bytes() == 0);
      REQUIRE(world.source->reservations() == 0);
      REQUIRE(world.source->violations().empty());
      const bool told = world.logged("pool: closed with 38 live blocks");
      const bool lacked = world.logged("the host had no memory to say all of it");
      REQUIRE((told || lacked));
      if (!memory.failed()) {
        REQUIRE(told);
        REQUIRE_FALSE(lacked);
        break;
      }
    }
  }
}
