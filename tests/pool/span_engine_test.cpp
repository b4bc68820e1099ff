#include "pool/span_engine.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/holds.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kEngineBase = Address{1} << 30;
constexpr std::size_t kUnit = 512;

// A naive model: what each unit of a small island is.
struct Unit {
  enum class Kind { used, free, hole } kind = Kind::free;
  Stamp stamp;
};

}  // namespace

TEST_CASE("bins are monotone and at most a sixteenth apart") {
  unsigned before = 0;
  std::uint64_t first = 1;
  for (std::uint64_t units = 1; units < 100'000; ++units) {
    const unsigned bin = BinScale::of(units);
    REQUIRE(bin >= before);
    if (bin > before) first = units;
    REQUIRE((units - first) * 16 <= first);
    before = bin;
  }
  CHECK(BinScale::of(std::uint64_t{1} << 34) < BinScale::kBins);
  CHECK(BinScale::of(~std::uint64_t{0} >> 9) < BinScale::kBins);
}

TEST_CASE("every short program on a small island agrees with a naive model") {
  // Eight units, two owners; a program is a number whose digits are operations.
  constexpr std::size_t kUnits = 8;
  constexpr unsigned kLength = 5, kOperations = 9;
  unsigned programs = 1;
  for (unsigned i = 0; i < kLength; ++i) programs *= kOperations;
  for (unsigned program = 0; program < programs; ++program) {
    SpanEngine engine;
    engine.open_owner(1);
    engine.open_owner(2);
    engine.add_island(kEngineBase, kUnits * kUnit, false);
    std::array<Unit, kUnits> model{};
    std::vector<ExtentId> used;
    unsigned rest = program;
    for (unsigned i = 0; i < kLength; ++i, rest /= kOperations) {
      const unsigned operation = rest % kOperations;
      if (operation < 4) {
        // Owner 1 or 2 takes one or three units.
        const Owner owner = 1 + operation % 2;
        const std::size_t units = operation < 2 ? 1 : 3;
        Fit fit = engine.find(owner, units * kUnit, kUnit);
        if (!fit) fit = engine.find_run(owner, units * kUnit, kUnit, 100);
        std::size_t run = 0, longest = 0;
        for (const Unit& unit : model) {
          const bool may = unit.kind == Unit::Kind::free &&
                           (unit.stamp.owner == kEverybody || unit.stamp.owner == owner);
          run = may ? run + 1 : 0;
          longest = std::max(longest, run);
        }
        HOLDS(static_cast<bool>(fit) == (longest >= units));
        if (!fit) continue;
        const std::size_t at = (fit.address - kEngineBase) / kUnit;
        for (std::size_t u = at; u < at + units; ++u) {
          HOLDS(model[u].kind == Unit::Kind::free);
          HOLDS((model[u].stamp.owner == kEverybody || model[u].stamp.owner == owner));
          model[u].kind = Unit::Kind::used;
        }
        used.push_back(engine.take(fit, units * kUnit));
      } else if (operation < 8) {
        // The first or the last block is freed by owner 1 or 2, at a point that tells the time.
        if (used.empty()) continue;
        const std::size_t which = operation < 6 ? 0 : used.size() - 1;
        const Stamp stamp{1 + operation % 2, i / 2 + 1};
        const ExtentId id = used[which];
        used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
        const std::size_t at = (engine.at(id).address - kEngineBase) / kUnit;
        const std::size_t units = engine.at(id).bytes / kUnit;
        for (std::size_t u = at; u < at + units; ++u) model[u] = {Unit::Kind::free, stamp};
        engine.free(id, stamp);
      } else {
        engine.complete(1, 2);
        for (Unit& unit : model) {
          if (unit.kind == Unit::Kind::free && unit.stamp.owner == 1 && unit.stamp.point <= 2) {
            unit.stamp = {};
          }
        }
      }
      std::uint64_t everybody = 0, pending = 0;
      for (const Unit& unit : model) {
        if (unit.kind != Unit::Kind::free) continue;
        (unit.stamp.owner == kEverybody ? everybody : pending) += kUnit;
      }
      HOLDS(engine.counts().free == everybody);
      HOLDS(engine.counts().pending == pending);
    }
    // Shorter programs are among these too: an operation that finds nothing to do does nothing.
    REQUIRE(engine.validate() == "");
  }
}

TEST_CASE("a claim that came to nothing is put back as it was") {
  SpanEngine engine;
  engine.open_owner(1);
  engine.open_owner(2);
  engine.add_island(kEngineBase, 12 * kUnit, false);
  std::vector<ExtentId> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(engine.take(engine.find(kEverybody, 3 * kUnit, kUnit), 3 * kUnit));
  }
  engine.free(blocks[0], {1, 5});
  engine.free(blocks[1], {2, 7});
  engine.free(blocks[2], {});
  engine.free(blocks[3], {1, 6});
  const Fit fit = engine.find_any_run(11 * kUnit, kUnit);
  REQUIRE(fit);
  std::vector<Piece> pieces;
  engine.pieces(fit, 11 * kUnit, pieces);
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[1].stamp == Stamp{2, 7});
  CHECK(pieces[3].bytes == 2 * kUnit);
  const ExtentId claim = engine.take(fit, 11 * kUnit);
  CHECK(engine.counts().used == 11 * kUnit);
  CHECK(engine.validate().empty());
  engine.put_back(claim, pieces);
  CHECK(engine.validate().empty());
  CHECK(engine.counts().used == 0);
  CHECK(engine.pending(1) == 6 * kUnit);
  CHECK(engine.pending(2) == 3 * kUnit);
  CHECK(engine.counts().extents == 4);
  engine.complete(1, 5);
  CHECK(engine.pending(1) == 3 * kUnit);
  engine.complete(1, 6);
  engine.complete(2, 7);
  CHECK(engine.counts().extents == 1);
  CHECK(engine.counts().free == 12 * kUnit);
}

TEST_CASE("what an owner keeps for ever is nobody's prey, and can change hands") {
  SpanEngine engine;
  engine.open_owner(1);
  engine.open_owner(2);
  engine.add_island(kEngineBase, 8 * kUnit, false);
  const ExtentId block = engine.take(engine.find(kEverybody, 8 * kUnit, kUnit), 8 * kUnit);
  engine.free(block, {1, kNever});
  CHECK_FALSE(engine.find_any_run(kUnit, kUnit));
  CHECK_FALSE(engine.find(2, kUnit, kUnit));
  CHECK(engine.find(1, kUnit, kUnit));
  engine.restamp(1, {2, 3});
  CHECK(engine.find(2, 8 * kUnit, kUnit));
  CHECK(engine.find_any_run(8 * kUnit, kUnit));
  CHECK(engine.validate().empty());
}

TEST_CASE("a hundred thousand operations leave only what lives") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    SpanEngine engine;
    engine.open_owner(1);
    engine.open_owner(2);
    engine.add_island(kEngineBase, 256 * kMiB, false);
    std::vector<ExtentId> live;
    Point point = 1;
    for (unsigned i = 0; i < 100'000; ++i) {
      const Owner owner = 1 + random() % 2;
      if (live.size() < 1000 || random() % 2 == 0) {
        const std::size_t bytes = (1 + random() % 400) * kUnit;
        const std::size_t alignment = kUnit << random() % 6;
        if (const Fit fit = engine.find(owner, bytes, alignment)) {
          REQUIRE(fit.address % alignment == 0);
          live.push_back(engine.take(fit, bytes));
        }
      }
      if (live.size() > 1000) {
        std::swap(live[random() % live.size()], live.back());
        engine.free(live.back(), {owner, ++point / 64});
        live.pop_back();
      }
      if (random() % 50 == 0) engine.complete(owner, point / 64 - random() % 5);
      if ((seed == 1 && i < 10'000) || i % 997 == 0) REQUIRE(engine.validate() == "");
    }
    for (const ExtentId id : live) engine.free(id, {});
    engine.complete(1, point);
    engine.complete(2, point);
    CHECK(engine.validate() == "");
    CHECK(engine.counts().extents == 1);
    CHECK(engine.largest_free() == 256 * kMiB);
    CHECK(engine.metadata_bytes() < 4 * kMiB);
  }
}

TEST_CASE("what is put back waits in the order of points, not behind what was freed meanwhile") {
  SpanEngine engine;
  engine.open_owner(1);
  engine.add_island(kEngineBase, 64 * kMiB, false);
  const auto take = [&](std::size_t bytes) {
    return engine.take(engine.find(kEverybody, bytes, kUnit), bytes);
  };
  const ExtentId old = take(8 * kMiB);
  (void)take(kUnit);
  const ExtentId later = take(8 * kMiB);
  (void)take(kUnit);
  engine.free(old, {1, 1});
  engine.free(later, {1, 9});
  const Fit fit = engine.find_oldest(1, 8 * kMiB, kUnit);
  std::vector<Piece> pieces;
  engine.pieces(fit, 8 * kMiB, pieces);
  engine.put_back(engine.take(fit, 8 * kMiB), pieces);
  CHECK(engine.validate() == "");
  CHECK(engine.oldest_point(1) == 1);
  engine.complete(1, 5);
  CHECK(engine.pending(1) == 8 * kMiB);
}

TEST_CASE("islands may be many, each with its own record") {
  SpanEngine engine;
  constexpr Address kApart = 64 * kMiB;
  std::vector<ExtentId> islands;
  for (Address i = 0; i < 1000; ++i) {
    islands.push_back(engine.add_island(kEngineBase + i * kApart, 2 * kMiB, false));
  }
  CHECK(engine.counts().extents == 1000);
  CHECK(engine.counts().free == 1000 * 2 * kMiB);
  for (Address i = 0; i < 1000; ++i) {
    REQUIRE(engine.at(islands[i]).address == kEngineBase + i * kApart);
  }
  CHECK(engine.validate() == "");
}

// Blocks of many sizes in an island that is nine tenths full, each replaced by another at random.
