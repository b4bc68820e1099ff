// The order of the rungs is policy: what is written is climbed, and what is left out is not.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/ladder.hpp"
#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::World;

namespace {

/// Every ladder that is allowed: each order of each choice of rungs.
std::vector<Ladder> every_ladder() {
  std::vector<Ladder> all;
  for (unsigned choice = 0; choice < 1u << (kLadderRungs - 1); ++choice) {
    Ladder rest;
    for (std::size_t i = 1; i < kLadderRungs; ++i) {
      if ((choice >> (i - 1) & 1) != 0) rest.push_back(static_cast<LadderRung>(i));
    }
    if (std::find(rest.begin(), rest.end(), LadderRung::map) == rest.end()) continue;
    do {
      all.push_back({LadderRung::completed});
      all.back().insert(all.back().end(), rest.begin(), rest.end());
    } while (std::next_permutation(rest.begin(), rest.end()));
  }
  return all;
}

std::string rung_names(const Ladder& ladder) {
  std::string text;
  for (const LadderRung rung : ladder) text += std::string(to_string(rung)) + " ";
  return text;
}

std::string what_is_wrong(const Ladder& ladder) {
  const auto mistake = ladder_mistake(ladder);
  return mistake ? std::to_string(mistake->at) + ": " + mistake->what : "";
}

/// A pool in which each rung alone could serve a request of 4 MiB on stream 3. Half of the capacity
/// is not held, but above the soft limit.
struct AllWays {
  static constexpr std::size_t kHandle = 2 * kMiB;

  explicit AllWays(const Ladder& ladder)
      : world(World::Config{.capacity = 64 * kMiB,
                            .handle_size = kHandle,
                            .slab_max_block = 0,
                            .buddy_max_block = 0,
                            .soft_limit = 32 * kMiB,
                            .ladder = ladder,
                            .idle_share = 1}) {
    std::vector<void*> blocks;
    for (int i = 0; i < 12; ++i) blocks.push_back(world.pool.allocate(kHandle, 1));
    // Idle, but in pieces: for remap.
    for (const std::size_t i : {0, 2, 4}) world.pool.deallocate(blocks[i], 1);
    world.timeline->run_all();
    world.pool.trim(64 * kMiB);
    // Pending on another stream: for steal, and for wait.
    stolen = world.pool.allocate(4 * kMiB, 2);
    world.timeline->work(2);
    world.pool.deallocate(stolen, 2);
  }

  World world;
  void* stolen = nullptr;
};

/// The rung that served the one request of stream 3.
std::string served(const Ladder& ladder) {
  AllWays ways(ladder);
  const PoolStats before = ways.world.pool.stats();
  void* block = ways.world.pool.allocate(4 * kMiB, 3);
  REQUIRE(block != nullptr);
  REQUIRE(ways.world.sound());
  const PoolStats after = ways.world.pool.stats();
  std::string name;
  std::vector<Count> counts;
  LadderStats::each_field(
      [&](const char* rung, Merge, const Tally& now, const Tally& then) {
        if (now.count > then.count) name += rung;
      },
      after.ladder, before.ladder);
  return name;
}

/// Two streams on four handles that fill up with all kinds of memory that is not free.
class Tight {
 public:
  Tight(const Ladder& ladder, unsigned seed)
      : random_(seed),
        world_(World::Config{.capacity = 5 * AllWays::kHandle + 2 * kMiB,
                             .handle_size = 2 * AllWays::kHandle,
                             .slab_max_block = 4096,
                             .buddy_max_block = 256 * kKiB,
                             .parked_spans = 4,
                             .soft_limit = 4 * AllWays::kHandle,
                             .ladder = ladder,
                             .point_every_frees = 1,
                             .wait_limit_ms = 0,
                             .streams = 2}) {}

  /// No retry right after OutOfMemory succeeds, while no time passes. Returns how often there was
  /// none.
  unsigned run(unsigned steps) {
    unsigned refused = 0;
    for (unsigned i = 0; i < steps; ++i) {
      if (pick(4) == 0 && !live_.empty()) {
        std::swap(live_[pick(live_.size())], live_.back());
        if (pick(4) == 0) (void)world_.pool.record_use(live_.back().first, 3 - live_.back().second);
        world_.timeline->work(live_.back().second);
        REQUIRE(world_.pool.try_deallocate(live_.back().first, live_.back().second) ==
                Misuse::none);
        live_.pop_back();
        continue;
      }
      if (pick(12) == 0) world_.timeline->run(1 + pick(2), 1 + pick(3));
      static constexpr std::size_t kSizes[] = {1000, 100 * kKiB, kMiB, 3 * kMiB, 5 * kMiB};
      refused += allocate(kSizes[pick(5)], 1 + pick(2)) ? 0 : 1;
    }
    REQUIRE(world_.sound());
    return refused;
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  bool allocate(std::size_t bytes, StreamId stream) {
    try {
      live_.emplace_back(world_.pool.allocate(bytes, stream), stream);
      return true;
    } catch (const OutOfMemory&) {
      REQUIRE_THROWS_AS(world_.pool.allocate(bytes, stream), OutOfMemory);
      return false;
    }
  }

  std::minstd_rand random_;
  World world_;
  std::vector<std::pair<void*, StreamId>> live_;
};

}  // namespace

TEST_CASE("a ladder begins with what is free by now, has map, and no rung twice") {
  CHECK(what_is_wrong(default_ladder()) == "");
  CHECK(every_ladder().size() == 11743);
  for (const Ladder& ladder : every_ladder()) REQUIRE(what_is_wrong(ladder) == "");
  using R = LadderRung;
  CHECK(what_is_wrong({R::completed, R::map}) == "");
  CHECK(what_is_wrong({}) ==
        "0: found no \"completed\"; \"completed\" and \"map\" have to be among them");
  CHECK(what_is_wrong({R::completed, R::steal}) ==
        "2: found no \"map\"; \"completed\" and \"map\" have to be among them");
  CHECK(what_is_wrong({R::map, R::completed}) ==
        "0: found \"map\", allowed is \"completed\": what is free by now comes first");
  CHECK(what_is_wrong({R::completed, R::map, R::steal, R::map}) ==
        "3: found \"map\" a second time; each rung may be given once");
  CHECK(what_is_wrong({R::completed, static_cast<R>(8)}) == "1: found no rung of the ladder");
  for (const R rung : default_ladder()) CHECK(ladder_rung(to_string(rung)) == rung);
  CHECK_FALSE(ladder_rung("stael"));
  CHECK(to_string(static_cast<R>(99)) == "unknown");
}

TEST_CASE("a pool refuses a ladder that is none") {
  try {
    const World world(World::Config{.ladder = {LadderRung::completed}});
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()) ==
          "/pool/ladder: rung 1: found no \"map\"; \"completed\" and \"map\" have to be among "
          "them");
  }
}

TEST_CASE("the first rung of a ladder that can serve a request does") {
  using R = LadderRung;
  const std::vector<std::pair<R, std::string>> expected{{R::map, "map"},
                                                        {R::steal, "steal"},
                                                        {R::remap, "remap"},
                                                        {R::grow, "remap"},
                                                        {R::wait, "wait"}};
  for (const auto& [first, rung] : expected) {
    INFO(to_string(first));
    CHECK(served(test::ladder_with(first)) == rung);
  }
  // Behind rungs that find nothing here, too.
  CHECK(served({R::completed, R::trim, R::callback, R::steal, R::map}) == "steal");
  CHECK(served({R::completed, R::callback, R::trim, R::remap, R::steal, R::map}) == "remap");
}

TEST_CASE("without grow the soft limit is the end, and OutOfMemory says so") {
  using R = LadderRung;
  for (const bool grows : {false, true}) {
    Ladder ladder = default_ladder();
    if (!grows) std::erase(ladder, R::grow);
    World world(World::Config{
        .capacity = 64 * kMiB, .handle_size = 2 * kMiB, .soft_limit = 16 * kMiB, .ladder = ladder});
    REQUIRE(world.pool.allocate(12 * kMiB, 1) != nullptr);
    if (grows) {
      CHECK(world.pool.allocate(12 * kMiB, 1) != nullptr);
      continue;
    }
    try {
      (void)world.pool.allocate(12 * kMiB, 1);
      FAIL("the soft limit was passed");
    } catch (const OutOfMemory& error) {
      const std::string report = error.report();
      INFO(report);
      CHECK(report.find("a larger pool.soft_limit, or \"grow\" in pool.ladder") !=
            std::string::npos);
    }
    CHECK(world.pool.stats().held.current <= 16 * kMiB);
  }
}

TEST_CASE("what is tried again after others gave way grows no further than the rungs before it") {
  using R = LadderRung;
  // Memory is there, but only above the soft limit, which no rung before the callback may pass.
  for (const Ladder& ladder : {Ladder{R::completed, R::map, R::callback},
                               Ladder{R::completed, R::map, R::callback, R::grow}}) {
    INFO(rung_names(ladder));
    World world(World::Config{
        .capacity = 64 * kMiB, .handle_size = 2 * kMiB, .soft_limit = 16 * kMiB, .ladder = ladder});
    REQUIRE(world.pool.allocate(12 * kMiB, 1) != nullptr);
    std::uint64_t held_when_asked = 0;
    world.pool.add_pressure_callback([&](std::size_t) -> std::size_t {
      held_when_asked = world.pool.stats().held.current;
      return 1;  // says that something became free
    });
    if (ladder.back() == R::grow) {
      CHECK(world.pool.allocate(12 * kMiB, 1) != nullptr);
      CHECK(world.pool.stats().held.current > 16 * kMiB);
    } else {
      CHECK_THROWS_AS(world.pool.allocate(12 * kMiB, 1), OutOfMemory);
      CHECK(world.pool.stats().held.current <= 16 * kMiB);
    }
    CHECK(held_when_asked > 0);
  }
}

TEST_CASE("OutOfMemory names the rungs that were tried, and those whose lack may be the reason") {
  using R = LadderRung;
  World world(World::Config{.capacity = 8 * kMiB,
                            .handle_size = 2 * kMiB,
                            .ladder = {R::completed, R::callback, R::map, R::trim}});
  void* block = world.pool.allocate(8 * kMiB, 1);
  world.timeline->work(1);
  world.pool.deallocate(block, 1);
  try {
    (void)world.pool.allocate(4 * kMiB, 2);
    FAIL("another stream's memory was taken");
  } catch (const OutOfMemory& error) {
    const std::string report = error.report();
    INFO(report);
    CHECK(report.find("rungs tried          cache, completed, map, trim, callback\n") !=
          std::string::npos);
    CHECK(report.find("\"steal\", \"remap\", \"wait\" in pool.ladder: enough is pending") !=
          std::string::npos);
  }
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.pool.stats().ladder.steal.count == 0);
  world.timeline->run_all();
  CHECK(world.pool.allocate(4 * kMiB, 2) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("what a rung leads to stays within the ladder") {
  using R = LadderRung;
  for (const bool steals : {false, true}) {
    INFO(steals);
    Ladder ladder{R::completed, R::map, R::wait};
    if (steals) ladder.insert(ladder.begin() + 2, R::steal);
    World world(World::Config{.capacity = 8 * kMiB,
                              .handle_size = 2 * kMiB,
                              .slab_max_block = 0,
                              .buddy_max_block = 0,
                              .ladder = ladder,
                              .point_every_frees = 1});
    void* small = world.pool.allocate(2 * kMiB, 2);
    void* live = world.pool.allocate(2 * kMiB, 3);
    void* large = world.pool.allocate(4 * kMiB, 1);
    world.timeline->work(2);
    world.pool.deallocate(small, 2);
    world.timeline->work(1);
    world.pool.deallocate(large, 1);
    // The oldest free is too small; without `steal` the next one is waited for as well.
    CHECK(world.pool.allocate(4 * kMiB, 3) != nullptr);
    CHECK(world.pool.stats().host_waits == (steals ? 0 : 2));
    CHECK((world.hooks->calls(test::TimeCall::wait) > 0) == steals);
    world.pool.deallocate(live, 3);
    CHECK(world.sound());
  }
}

TEST_CASE("small blocks climb the same order, and leave out what it leaves out") {
  using R = LadderRung;
  for (const bool steals : {false, true}) {
    World world(World::Config{
        .capacity = 2 * kMiB,
        .handle_size = 2 * kMiB,
        .ladder = steals ? Ladder{R::completed, R::steal, R::map} : Ladder{R::completed, R::map},
        .wait_limit_ms = 0});
    std::vector<void*> rest;
    (void)world.pool.allocate(1000, 1);  // a page of stream 1's with much room
    try {
      while (true) rest.push_back(world.pool.allocate(256 * kKiB, 1));
    } catch (const OutOfMemory&) {
    }
    try {
      while (true) rest.push_back(world.pool.allocate(64 * kKiB, 1));
    } catch (const OutOfMemory&) {
    }
    if (steals) {
      CHECK(world.pool.allocate(1000, 2) != nullptr);
    } else {
      CHECK_THROWS_AS(world.pool.allocate(1000, 2), OutOfMemory);
    }
    CHECK(world.sound());
  }
}

TEST_CASE("the last granules of the capacity are found under every ladder") {
  unsigned number = 0;
  for (const Ladder& ladder : every_ladder()) {
    if (ladder.size() > 4 && ladder.size() < kLadderRungs) continue;
    if (number++ % by_build(1u, 20u, 200u) != 0) continue;
    // Handles of 6 MiB leave 2 MiB over.
    World world(World::Config{
        .capacity = 8 * kMiB, .handle_size = 6 * kMiB, .ladder = ladder, .wait_limit_ms = 0});
    INFO(rung_names(ladder));
    REQUIRE(world.pool.allocate(6 * kMiB, 1) != nullptr);
    REQUIRE(world.pool.allocate(2 * kMiB, 1) != nullptr);
  }
}

TEST_CASE("with time frozen no retry after OutOfMemory succeeds, whatever the order of the rungs") {
  std::vector<Ladder> ladders = every_ladder();
  std::minstd_rand random(1);
  unsigned refused = 0;
  std::size_t climbed = 0;
  for (std::size_t i = 0; i < ladders.size(); ++i) {
    if (i % by_build(3u, 50u, 500u) != 0) continue;
    INFO(rung_names(ladders[i]));
    refused += Tight(ladders[i], static_cast<unsigned>(random())).run(60);
    ++climbed;
  }
  CHECK(refused > climbed);
}
