// Where a block goes for which no free range is long enough.
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/span_engine.hpp"
#include "pool/units.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr std::size_t kCell = 2 * kMiB;
constexpr Address kPlacementBase = 64 * kMiB;

using Part = SpanEngine::Part;
using Placement = SpanEngine::Placement;

// An engine over 64 cells of addresses, the first `mapped` of which are one used extent.
struct PlacementBench {
  explicit PlacementBench(std::size_t mapped) : engine(kCell) {
    const ExtentId range = engine.add_island(kPlacementBase, 64 * kCell, true);
    if (mapped > 0) used = engine.take_hole(range, kPlacementBase, mapped * kCell);
  }
  /// Makes [from, to) of the used extent free, or a hole; in units of cells, upwards.
  void free(double from, double to) { release(from, to, false); }
  void hole(double from, double to) { release(from, to, true); }
  Placement place(std::size_t bytes, std::size_t cell = kCell) {
    return engine.find_placement(kEverybody, bytes, kSpanUnit, cell);
  }
  static double cells(Address address) {
    return static_cast<double>(address - kPlacementBase) / static_cast<double>(kCell);
  }

  SpanEngine engine;
  ExtentId used = kNoExtent;

 private:
  void release(double from, double to, bool hole) {
    const auto at = [](double cells) {
      return kPlacementBase + static_cast<Address>(cells * static_cast<double>(kCell));
    };
    ExtentId id = used;
    if (at(from) > engine.at(id).address) id = engine.split(id, at(from) - engine.at(id).address);
    const ExtentId rest = engine.split(id, at(to) - at(from));
    if (hole) {
      engine.make_hole(id);
    } else {
      engine.free(id, {});
    }
    used = rest;
  }
};

}  // namespace

TEST_CASE("a block begins in the free range before a hole, so that less has to be mapped") {
  PlacementBench bench(8);
  bench.free(6.5, 8);
  const Placement place = bench.place(4 * kCell);
  CHECK(PlacementBench::cells(place.address) == 6.5);
  CHECK(place.fill == 3 * kCell);
  CHECK(place.rests == 1);
}

TEST_CASE("the hole that needs the fewest bytes is filled, with what lies on both sides") {
  PlacementBench bench(12);
  bench.free(1, 2);
  bench.hole(2, 3);
  bench.free(3, 4);
  bench.free(9, 10);
  bench.hole(10, 12);
  const Placement place = bench.place(3 * kCell);
  CHECK(PlacementBench::cells(place.address) == 1);
  CHECK(place.fill == kCell);
  CHECK(place.broken == 2);
  CHECK(place.rests == 0);
  const std::vector<Part> parts = bench.engine.claim(place, 3 * kCell, kCell, 0);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].pieces.size() == 1);
  CHECK(parts[1].pieces.empty());
  CHECK(PlacementBench::cells(parts[1].address) == 2);
  CHECK(parts[1].bytes == kCell);
  CHECK(bench.engine.validate() == "");
  // Undone, everything is as it was.
  bench.engine.make_hole(parts[1].id);
  bench.engine.put_back(parts[0].id, parts[0].pieces);
  bench.engine.put_back(parts[2].id, parts[2].pieces);
  CHECK(bench.engine.validate() == "");
  CHECK(bench.place(3 * kCell).fill == kCell);
}

TEST_CASE("a block may end with the range behind a hole") {
  PlacementBench bench(12);
  bench.hole(2, 6);
  bench.free(6, 6.75);
  const Placement place = bench.place(2 * kCell);
  // From the hole's start it would need two cells; towards the range behind it, too, but for a rest
  // it leaves none on that side.
  CHECK(place.fill == 2 * kCell);
  const Placement longer = bench.place(kCell + kCell * 3 / 4);
  CHECK(PlacementBench::cells(longer.address) == 5);
  CHECK(longer.fill == kCell);
  CHECK(longer.rests == 0);
}

TEST_CASE("a block that ends with a hole leaves the free range behind it as a rest") {
  PlacementBench bench(12);
  bench.hole(2, 4);
  bench.free(4, 5);
  const Placement place = bench.place(2 * kCell);
  CHECK(place.fill == kCell);
  CHECK(PlacementBench::cells(place.address) == 3);
  // All of the hole would do, too, but for the free range behind it; behind all memory is none.
  const Placement whole = bench.engine.find_placement(kEverybody, 2 * kCell, 2 * kCell, kCell);
  CHECK(whole.fill == 2 * kCell);
  CHECK(whole.rests == 0);
  CHECK(PlacementBench::cells(whole.address) == 12);
}

TEST_CASE("whole cells are filled from the side on which the block leaves the hole") {
  PlacementBench bench(12);
  bench.hole(2, 8);
  bench.free(8, 8.5);
  const std::size_t bytes = kCell + kCell / 4;
  const Placement place = bench.place(bytes);
  CHECK(place.fill == kCell);
  CHECK(PlacementBench::cells(place.address) == 7.25);
  const std::vector<Part> parts = bench.engine.claim(place, bytes, kCell, 0);
  REQUIRE(parts.size() == 2);
  CHECK(PlacementBench::cells(parts[0].address) == 7);
  CHECK(parts[0].bytes == kCell);
}

TEST_CASE("granules may be filled where whole handles are too much") {
  PlacementBench bench(0);
  CHECK(bench.place(5 * kCell, 4 * kCell).fill == 8 * kCell);
  CHECK(bench.place(5 * kCell, kCell).fill == 5 * kCell);
}

TEST_CASE("nothing is built from the end of all addresses downwards") {
  PlacementBench bench(3);
  for (std::size_t bytes = kCell; bytes <= 61 * kCell; bytes += 4 * kCell) {
    CHECK(PlacementBench::cells(bench.place(bytes).address) == 3);
  }
  CHECK(bench.place(62 * kCell).first == kNoExtent);
}

TEST_CASE("more than asked for is claimed of the last hole only") {
  PlacementBench bench(8);
  bench.hole(2, 3);
  Placement place = bench.place(kCell);
  CHECK(PlacementBench::cells(place.address) == 2);
  const std::vector<Part> inner = bench.engine.claim(place, kCell, kCell, 4 * kCell);
  REQUIRE(inner.size() == 1);
  CHECK(inner[0].bytes == kCell);
  place = bench.place(kCell);
  CHECK(PlacementBench::cells(place.address) == 8);
  const std::vector<Part> last = bench.engine.claim(place, kCell, kCell, 4 * kCell);
  REQUIRE(last.size() == 1);
  CHECK(last[0].bytes == 5 * kCell);
}

TEST_CASE("an alignment is kept wherever the block goes") {
  for (const std::size_t alignment : {4 * kMiB, 8 * kMiB, 32 * kMiB}) {
    PlacementBench bench(7);
    bench.free(5.5, 7);
    const Placement place = bench.engine.find_placement(kEverybody, 3 * kCell, alignment, kCell);
    REQUIRE(place.first != kNoExtent);
    CHECK(place.address % alignment == 0);
    const std::vector<Part> parts = bench.engine.claim(place, 3 * kCell, kCell, 0);
    CHECK(parts.front().address <= place.address);
    CHECK(bench.engine.validate() == "");
  }
}

TEST_CASE("ranges of another owner end a gap") {
  PlacementBench bench(8);
  bench.engine.open_owner(1);
  bench.engine.open_owner(2);
  const ExtentId id = bench.engine.split(bench.used, 6 * kCell);
  bench.engine.free(id, {1, 5});
  CHECK(PlacementBench::cells(
            bench.engine.find_placement(1, 4 * kCell, kSpanUnit, kCell).address) == 6);
  CHECK(PlacementBench::cells(
            bench.engine.find_placement(2, 4 * kCell, kSpanUnit, kCell).address) == 8);
}
