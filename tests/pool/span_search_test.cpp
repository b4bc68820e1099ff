// Which place a search takes, and how much it looks at.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "pool/span_engine.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kSearchBase = Address{1} << 30;
constexpr std::size_t kSearchUnit = 512;

}  // namespace

TEST_CASE("a good fit is tight, aligned, and cuts as little as it can") {
  SpanEngine engine;
  engine.add_island(kSearchBase, 64 * kMiB, false);
  const auto take = [&](std::size_t bytes, std::size_t alignment = kSearchUnit) {
    return engine.take(engine.find(kEverybody, bytes, alignment), bytes);
  };
  // Holes of 40, 10 and 20 units between blocks.
  const ExtentId a = take(40 * kSearchUnit);
  (void)take(kSearchUnit);
  const ExtentId b = take(10 * kSearchUnit);
  (void)take(kSearchUnit);
  const ExtentId c = take(20 * kSearchUnit);
  (void)take(kSearchUnit);
  const Address where = engine.at(c).address;
  engine.free(a, {});
  engine.free(b, {});
  engine.free(c, {});
  CHECK(engine.find(kEverybody, 18 * kSearchUnit, kSearchUnit).address == where);
  CHECK(engine.find(kEverybody, 20 * kSearchUnit, kSearchUnit).address == where);
  CHECK(engine.find(kEverybody, 4096, 4096).address % 4096 == 0);
  const Fit far = engine.find(kEverybody, 2 * kMiB, 16 * kMiB);
  CHECK(far.address % (16 * kMiB) == 0);
  engine.take(far, 2 * kMiB);
  CHECK(engine.validate().empty());
}

TEST_CASE("neighbours that do not join count as one place") {
  // Ranges of a cell and more whose points lie apart do not join. Three runs for owner 1: twelve
  // units, of which four are everybody's, ten of its own, and fourteen of everybody's.
  constexpr std::size_t kCell = 4 * kSearchUnit;
  SpanEngine engine(kCell);
  engine.open_owner(1);
  engine.open_owner(2);
  engine.add_island(kSearchBase, 64 * kSearchUnit, false);
  std::vector<ExtentId> blocks;
  for (const std::size_t units : {4, 4, 4, 1, 4, 4, 2, 1, 14, 1}) {
    blocks.push_back(
        engine.take(engine.find(1, units * kSearchUnit, kSearchUnit), units * kSearchUnit));
  }
  const auto address = [&](std::size_t block) { return engine.at(blocks[block]).address; };
  const Address twelve = address(0), ten = address(4), fourteen = address(8);
  engine.free(blocks[0], {1, 3});
  engine.free(blocks[1], {1, 6});
  engine.free(blocks[2], {});
  engine.free(blocks[4], {1, 9});
  engine.free(blocks[5], {1, 12});
  engine.free(blocks[6], {1, 15});
  engine.free(blocks[8], {});
  REQUIRE(engine.validate().empty());
  // Every run begins or ends with a range of four, but that of ten has the least room.
  CHECK(engine.find(1, 3 * kSearchUnit, kSearchUnit).address == ten);
  CHECK(engine.find(1, 11 * kSearchUnit, kSearchUnit).address == twelve);
  CHECK(engine.find(1, 13 * kSearchUnit, kSearchUnit).address == fourteen);
  const Fit fit = engine.find(1, 10 * kSearchUnit, kSearchUnit);
  CHECK(fit.address == ten);
  CHECK(fit.rest == 0);
  // Others see what is theirs.
  CHECK(engine.find(2, 3 * kSearchUnit, kSearchUnit).address == twelve + 8 * kSearchUnit);
  CHECK(engine.find(2, 5 * kSearchUnit, kSearchUnit).address == fourteen);
  engine.take(fit, 10 * kSearchUnit);
  CHECK(engine.validate().empty());
}

TEST_CASE("a span is found with a constant number of probes, up to a million live ones") {
  struct Probes {
    std::uint64_t worst = 0, all = 0;
  };
  constexpr std::size_t kChurns = 200'000;
  const auto churn = [&](std::size_t live) {
    SpanEngine engine;
    engine.open_owner(1);
    constexpr std::size_t kMostUnits = 256;
    engine.add_island(kSearchBase, live * kMostUnits / 2 * kSearchUnit / 9 * 10, false);
    std::minstd_rand random(7);
    std::vector<ExtentId> used(live);
    Probes probes;
    const auto take = [&](ExtentId& slot, bool counted) {
      const std::size_t bytes = (1 + random() % kMostUnits) * kSearchUnit;
      const std::uint64_t before = engine.probes();
      const Fit fit = engine.find(1, bytes, kSearchUnit);
      if (counted) {
        probes.worst = std::max(probes.worst, engine.probes() - before);
        probes.all += engine.probes() - before;
      }
      slot = fit ? engine.take(fit, bytes) : kNoExtent;
    };
    for (ExtentId& slot : used) take(slot, false);
    // So that the free ranges are where such a churn leaves them.
    for (std::size_t i = 0; i < live + kChurns; ++i) {
      ExtentId& slot = used[random() % live];
      if (slot != kNoExtent) engine.free(slot, {});
      take(slot, i >= live);
    }
    REQUIRE(static_cast<std::size_t>(std::count(used.begin(), used.end(), kNoExtent)) < live / 20);
    return probes;
  };
  constexpr std::size_t kLive = pool::test::kSanitised ? 50'000 : 1'000'000;
  const Probes few = churn(kLive / 10), many = churn(kLive);
  CHECK(few.worst <= 160);
  CHECK(many.worst <= 160);
  // The ranges of one bin at most, and seldom more.
  CHECK(many.all <= 20 * kChurns);
  CHECK(few.all <= 20 * kChurns);
}
