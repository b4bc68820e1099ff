// Random programs on many streams, whose points pass in random order, against a shadow that knows
// who used each byte last.
#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/program.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::kSanitised;
using forebay::pool::test::operations;
using forebay::pool::test::Plan;
using forebay::pool::test::Program;
using forebay::pool::test::World;

namespace {

// Any configuration that a pool accepts, on a device that may be too small for its capacity.
Plan any_plan(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t below) { return random() % below; };
  const auto one_of = [&](auto... values) {
    const decltype((values + ...)) list[] = {values...};
    return list[pick(sizeof...(values))];
  };
  Plan plan;
  World::Config& config = plan.config;
  config.capacity = (12 + pick(120)) * 2 * kMiB;
  config.handle_size = one_of(std::size_t{0}, 2 * kMiB, 4 * kMiB, 6 * kMiB);
  config.slab_max_block = one_of(std::size_t{0}, std::size_t{5000}, 64 * kKiB);
  config.buddy_max_block = one_of(std::size_t{0}, std::size_t{300'000}, kMiB);
  config.parked_spans = one_of(0u, 1u, 5u, kMostParkedSpans);
  config.soft_limit = one_of(std::size_t{0}, config.capacity / 2, config.capacity / 8);
  config.headroom = one_of(std::size_t{0}, 8 * kMiB, 30 * kMiB);
  config.device = config.capacity + one_of(std::size_t{0}, 16 * kMiB, 100 * kMiB);
  config.ladder = test::ladder_with(pick(2) == 0 ? LadderRung::map : LadderRung::steal);
  config.growth_step = one_of(0.0, 0.03, 0.5);
  config.idle_share = one_of(0.0, 0.15, 1.0);
  config.point_every_frees = one_of(1u, 8u, 64u);
  config.wait_limit_ms = one_of(0u, 10'000u);
  config.virtual_memory = pick(4) != 0;
  config.mode = pick(8) == 0 ? PoolMode::passthrough : PoolMode::pooled;
  config.streams = 1 + static_cast<unsigned>(pick(6));
  if (pick(3) == 0) {
    // Any order, and some rungs left out; never the first, nor `map`.
    for (std::size_t i = 2; i < config.ladder.size(); ++i) {
      std::swap(config.ladder[i], config.ladder[1 + pick(i)]);
    }
    std::erase_if(config.ladder, [&](LadderRung rung) {
      return rung != LadderRung::completed && rung != LadderRung::map && pick(4) == 0;
    });
  }
  plan.live = 50 + pick(1000);
  plan.largest = std::min<std::size_t>(3 * kMiB << pick(3), config.capacity / 4);
  plan.validated = 200;
  plan.retire = pick(3) == 0;
  plan.capture = pick(3) == 0;
  plan.trim = pick(2) == 0;
  return plan;
}

}  // namespace

TEST_CASE("no byte is handed on early, with memory to spare") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 768 * kMiB}, .validated = seed == 1 ? 10'000u : 500u},
                    seed);
    program.run();
    CHECK(program.out_of_memory() == 0);
  }
}

TEST_CASE("no byte is handed on early, at the limit of the capacity") {
  PoolStats all;
  for (unsigned seed = 11; seed <= 14; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 96 * kMiB}}, seed);
    program.run();
    merge(all, program.outcome());
  }
  // The test is worth something only if the rungs were climbed.
  CHECK(all.ladder.completed.count > 0);
  CHECK(all.ladder.steal.count > 0);
  CHECK(all.ladder.trim.count > 0);
  CHECK(all.ladder.wait.count > 0);
  CHECK(all.host_waits > 0);
}

TEST_CASE("no byte is handed on early, without buddies, slabs or either") {
  for (const auto& [slab, buddy] :
       {std::pair<std::size_t, std::size_t>{64 * kKiB, 0}, {0, kMiB}, {0, 0}, {5000, 300'000}}) {
    INFO("slab " << slab << ", buddy " << buddy);
    Program program(
        {.config = {.capacity = 128 * kMiB, .slab_max_block = slab, .buddy_max_block = buddy},
         .operations = operations(100'000, 4'000),
         .validated = 500},
        7);
    program.run();
  }
}

TEST_CASE("no byte is handed on early, however many large blocks a stream parks") {
  for (const std::uint32_t parked : {0u, 1u}) {
    INFO("parked spans " << parked);
    Program program({.config = {.capacity = 128 * kMiB,
                                .slab_max_block = 5000,
                                .buddy_max_block = 0,
                                .parked_spans = parked},
                     .operations = operations(100'000, 1'500)},
                    51 + parked);
    program.run();
    CHECK(program.outcome().ladder.cache.count > 0);
  }
}

TEST_CASE("no byte is handed on early on a source that has only regions") {
  for (unsigned seed = 21; seed <= 22; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 128 * kMiB, .virtual_memory = false}}, seed);
    program.run();
  }
}

TEST_CASE("no byte is handed on early in passthrough") {
  Program program({.config = {.capacity = 96 * kMiB, .mode = PoolMode::passthrough}}, 41);
  program.run();
  CHECK(program.outcome().driver.allocate_region.count > 1000);
}

TEST_CASE("no byte is handed on early when streams come and go") {
  // The timeline remembers every stream that ever was: no program is so long that it gets slow.
  constexpr std::size_t kMost = 50'000;
  for (unsigned seed = 31; seed <= 32; ++seed) {
    const std::size_t asked = operations(2 * kMost, 4'000);
    for (unsigned part = 0; part * kMost < asked; ++part) {
      INFO("seed " << seed << ", part " << part);
      Program program({.config = {.capacity = 128 * kMiB},
                       .operations = std::min(asked, kMost),
                       .retire = true},
                      seed + 100 * part);
      program.run();
      CHECK(program.outcome().streams.size() <= 8);
    }
  }
}

TEST_CASE(
    "no byte is handed on early, and memory that ran out stays out, under any configuration") {
  PoolStats all;
  std::size_t out_of_memory = 0;
  for (unsigned seed = 101; seed <= 108; ++seed) {
    // Several configurations a seed, so that few of them are like others.
    for (unsigned part = 0; part < 8; ++part) {
      INFO("seed " << seed << ", part " << part);
      Plan plan = any_plan(seed * 100 + part);
      plan.operations = operations(240'000, 800) / 8;
      Program program(plan, seed * 100 + part);
      program.run();
      merge(all, program.outcome());
      out_of_memory += program.out_of_memory();
    }
  }
  if (kSanitised) return;  // so few operations do not climb every rung
  CHECK(out_of_memory > 10);
  LadderStats::each_field(
      [](const char* name, Merge, const Tally& tally) {
        INFO(name);
        CHECK((tally.count > 0 || std::string_view(name) == "callback"));
      },
      all.ladder);
}

TEST_CASE("with time frozen, no request that failed succeeds when it comes again") {
  for (unsigned seed = 201; seed <= 208; ++seed) {
    INFO("seed " << seed);
    Plan plan = any_plan(seed);
    plan.config.wait_limit_ms = 0;
    plan.config.capacity = 32 * kMiB;
    plan.config.soft_limit = std::min<std::size_t>(plan.config.soft_limit, 32 * kMiB);
    plan.config.mode = PoolMode::pooled;
    plan.live = 400;
    plan.largest = 6 * kMiB;
    plan.operations = operations(100'000, 400);
    Program program(plan, seed);
    program.run();
    CHECK(program.out_of_memory() > 0);
  }
}
