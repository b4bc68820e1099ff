// Long random programs on a span engine, against a naive model of every byte.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/span_engine.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/interval_model.hpp"
#include "tests/pool/naive_placement.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/holds.hpp"

using namespace forebay::pool;
using forebay::pool::test::IntervalModel;
using forebay::pool::test::NaivePlacement;
using ModelByte = IntervalModel::Byte;

namespace {

constexpr Address kModelBase = Address{1} << 32;
constexpr Owner kOwners = 3;           // streams 1, 2, 3
constexpr Owner kArena = kOwners + 1;  // what it frees never passes

struct Setup {
  std::size_t granule;  // holes are multiples of it
  std::size_t cell;
  std::size_t island;
  std::size_t largest;  // block
  std::size_t live;     // blocks, about
};

// What a program has done, so that a test can say that it did something.
struct SpanTally {
  std::size_t taken = 0, runs = 0, stolen = 0, placed = 0, undone = 0, refused = 0, weighed = 0;
};

class Program {
 public:
  Program(const Setup& setup, unsigned seed)
      : setup_(setup),
        engine_(setup.cell),
        model_(kModelBase, setup.island, IntervalModel::kHole),
        random_(seed) {
    for (Owner owner = 1; owner <= kArena; ++owner) engine_.open_owner(owner);
    engine_.add_island(kModelBase, setup.island, true);
  }

  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      step();
      const auto counts = engine_.counts();
      HOLDS(counts.used == used_bytes_);
      HOLDS(counts.used + counts.free + counts.pending + counts.holes == setup_.island);
      if (i < 2000 || i % 997 == 0) {
        INFO("operation " << i);
        check_everything();
      }
    }
    finish();
  }
  [[nodiscard]] const SpanTally& tally() const { return tally_; }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  Owner pick_owner() { return 1 + static_cast<Owner>(pick(kOwners)); }
  std::size_t pick_bytes() {
    std::size_t bytes = 1 + pick(pick(4) == 0 ? setup_.largest : setup_.largest / 16);
    if (pick(4) == 0) bytes = round_up_to_multiple(bytes, setup_.granule);
    return round_up(bytes, kSpanUnit);
  }
  std::size_t pick_alignment() {
    return pick(4) != 0 ? kSpanUnit : kSpanUnit << pick(log2_floor(setup_.cell / kSpanUnit) + 2);
  }

  void step() {
    switch (pick(16)) {
      case 0: {
        const Owner owner = pick_owner();
        pass(owner, points_[owner] - std::min<Point>(points_[owner], pick(4)));
        break;
      }
      case 1:
        ++points_[pick_owner()];
        break;
      case 2:
        unmap_something();
        break;
      case 3:
        try_and_undo();
        break;
      case 4:
        if (pick(20) == 0) inherit();
        break;
      default:
        if (pick(2 * setup_.live) < used_.size()) {
          free_one();
        } else {
          allocate();
        }
    }
  }

  // The ladder's order: a range, a run of ranges, a hole that is filled, somebody else's range.
  void allocate() {
    const Owner owner = pick(8) == 0 ? kArena : pick_owner();
    const std::size_t bytes = pick_bytes(), alignment = pick_alignment();
    const auto mine = [owner](const ModelByte& byte) { return byte.free_for(owner); };
    Fit fit = pick(4) == 0 ? engine_.find_lowest(owner, bytes, alignment)
                           : engine_.find(owner, bytes, alignment);
    if (!fit) {
      // A range of a higher bin than the block with its alignment is never missed.
      HOLDS(engine_.largest_free() < (bytes + alignment) / 16 * 17 + 2 * kSpanUnit);
      fit = engine_.find_run(owner, bytes, alignment, 1'000'000);
      tally_.runs += fit ? 1 : 0;
      if (!fit && alignment == kSpanUnit) HOLDS(!a_run_has(owner, bytes));
    }
    if (fit) {
      take(fit, bytes, alignment, mine);
      ++tally_.taken;
    } else if (pick(2) == 0 && place(owner, bytes, alignment)) {
      ++tally_.placed;
    } else {
      steal(bytes, alignment);
    }
  }

  // Whether there is a run of the owner's and everybody's ranges with one of the owner's among
  // them.
  bool a_run_has(Owner owner, std::size_t bytes) const {
    std::size_t run = 0;
    bool own = false, found = false;
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      if (!ModelByte{extent.state, extent.stamp}.free_for(owner)) {
        run = 0;
        own = false;
        return;
      }
      run += extent.bytes;
      own = own || extent.stamp.owner == owner;
      found = found || (own && run >= bytes);
    });
    return found;
  }

  template <typename Predicate>
  void take(const Fit& fit, std::size_t bytes, std::size_t alignment, Predicate&& allowed) {
    HOLDS(fit.address % alignment == 0);
    HOLDS(model_.every(fit.address, bytes, allowed));
    const ExtentId id = engine_.take(fit, bytes);
    HOLDS(engine_.at(id).address == fit.address);
    HOLDS(engine_.at(id).bytes == bytes);
    own(id);
  }
  void own(ExtentId id) {
    model_.set(engine_.at(id).address, engine_.at(id).bytes, IntervalModel::kUsed);
    used_bytes_ += engine_.at(id).bytes;
    used_.push_back(id);
  }

  void steal(std::size_t bytes, std::size_t alignment) {
    const auto free = [](const ModelByte& byte) {
      return byte.state == ExtentState::free && byte.stamp.point != kNever;
    };
    const Owner victim = pick_owner();
    Fit fit = pick(2) == 0 ? engine_.find_oldest(victim, bytes, alignment) : Fit{};
    if (fit) {
      take(fit, bytes, alignment,
           [&](const ModelByte& byte) { return free(byte) && byte.free_for(victim); });
    } else {
      fit = engine_.find_any_run(bytes, alignment);
      if (alignment == kSpanUnit) {
        HOLDS(static_cast<bool>(fit) == (model_.longest(free) >= bytes));
      }
      if (!fit) {
        ++tally_.refused;
        return;
      }
      take(fit, bytes, alignment, free);
    }
    ++tally_.stolen;
  }

  // Claims a place, and fills its holes or leaves everything as it was.
  bool place(Owner owner, std::size_t bytes, std::size_t alignment) {
    const std::size_t cell = pick(2) == 0 ? setup_.cell : setup_.granule;
    const SpanEngine::Placement place = engine_.find_placement(owner, bytes, alignment, cell);
    if (tally_.weighed < 500 || pick(50) == 0) {
      ++tally_.weighed;
      const auto best = NaivePlacement(engine_, owner, setup_.cell).best(bytes, alignment, cell);
      HOLDS((place.first != kNoExtent) == best.has_value());
      if (best && place.fill == 0) {
        // Rounded down to its alignment it ends before the hole, in ranges that no search joined.
        HOLDS(alignment > kSpanUnit);
      } else if (best) {
        HOLDS(place.fill == best->fill);
        HOLDS(place.broken == best->broken);
        HOLDS(place.rests == best->rests);
        HOLDS(place.address == best->address);
      }
    }
    if (place.first == kNoExtent) return false;
    HOLDS(place.address % alignment == 0);
    HOLDS(model_.every(place.address, bytes, [owner](const ModelByte& byte) {
      return byte.state == ExtentState::hole || byte.free_for(owner);
    }));
    const std::size_t extra = pick(4) == 0 ? cell * pick(4) : 0;
    const auto parts = engine_.claim(place, bytes, cell, extra);
    check_parts(parts, place, bytes, extra);
    if (pick(3) == 0) {
      for (const auto& part : parts) put_back(part);
      ++tally_.undone;
      REQUIRE(model_.compare(engine_) == "");
      return false;
    }
    ExtentId first = kNoExtent;
    for (const auto& part : parts) {
      ExtentId covering = kNoExtent;
      if (part.pieces.empty()) {
        model_.set(part.address, part.bytes, IntervalModel::free_under({}));
        covering = engine_.free(part.id, {});
      } else {
        covering = put_back(part);
      }
      if (first == kNoExtent) first = covering;
    }
    const Fit fit = engine_.fit_at(first, owner, place.address, bytes);
    HOLDS(fit);
    take(fit, bytes, alignment, [owner](const ModelByte& byte) { return byte.free_for(owner); });
    return true;
  }

  ExtentId put_back(const SpanEngine::Part& part) {
    if (!part.pieces.empty()) return engine_.put_back(part.id, part.pieces);
    engine_.make_hole(part.id);
    return kNoExtent;
  }

  // Parts follow each other, cover the block, and fill what was said and no more.
  void check_parts(const std::vector<SpanEngine::Part>& parts, const SpanEngine::Placement& place,
                   std::size_t bytes, std::size_t extra) {
    HOLDS(!parts.empty());
    HOLDS(parts.front().address <= place.address);
    HOLDS(parts.back().address + parts.back().bytes >= place.address + bytes);
    std::size_t filled = 0;
    Address reached = parts.front().address;
    for (const auto& part : parts) {
      HOLDS(part.address == reached);
      HOLDS(engine_.at(part.id).state == ExtentState::used);
      HOLDS(engine_.at(part.id).bytes == part.bytes);
      reached += part.bytes;
      if (part.pieces.empty()) {
        filled += part.bytes;
        HOLDS(model_.every(part.address, part.bytes,
                           [](const ModelByte& byte) { return byte.state == ExtentState::hole; }));
      }
      Address piece_at = part.address;
      for (const Piece& piece : part.pieces) {
        HOLDS(piece.address == piece_at);
        piece_at += piece.bytes;
      }
      if (!part.pieces.empty()) HOLDS(piece_at == reached);
    }
    HOLDS(filled >= place.fill);
    HOLDS(filled <= place.fill + extra);
    if (filled > place.fill) HOLDS(reached <= kModelBase + setup_.island);
  }

  void free_one() {
    const std::size_t at = pick(used_.size());
    ExtentId id = used_[at];
    used_[at] = used_.back();
    used_.pop_back();
    const Address address = engine_.at(id).address;
    if (pick(8) == 0 && engine_.at(id).bytes > kSpanUnit) {
      const std::size_t units = engine_.at(id).bytes / kSpanUnit;
      const ExtentId rest = engine_.split(id, (1 + pick(units - 1)) * kSpanUnit);
      used_.push_back(rest);
    }
    const std::size_t bytes = engine_.at(id).bytes;
    used_bytes_ -= bytes;
    if (pick(16) == 0 && address % setup_.granule == 0 && bytes % setup_.granule == 0) {
      model_.set(address, bytes, IntervalModel::kHole);
      engine_.make_hole(id);
      return;
    }
    Stamp stamp;
    if (pick(8) == 0) {
      stamp = {kArena, kNever};
    } else if (pick(8) != 0) {
      const Owner owner = pick_owner();
      stamp = {owner, points_[owner]};
    }
    model_.set(address, bytes, IntervalModel::free_under(stamp));
    const ExtentId covering = engine_.free(id, stamp);
    HOLDS(engine_.at(covering).address <= address);
    HOLDS(engine_.at(covering).end() >= address + bytes);
  }

  // Memory is taken and put back as it was: nothing changes.
  void try_and_undo() {
    const Owner owner = pick_owner();
    const std::size_t bytes = pick_bytes();
    Fit fit = engine_.find_run(owner, bytes, kSpanUnit, 100);
    if (!fit) fit = engine_.find(owner, bytes, kSpanUnit);
    if (!fit) return;
    std::vector<Piece> pieces;
    engine_.pieces(fit, bytes, pieces);
    const ExtentId id = engine_.take(fit, bytes);
    engine_.put_back(id, pieces);
    ++tally_.undone;
  }

  // A wholly free granule that is everybody's loses its memory.
  void unmap_something() {
    const Fit fit = engine_.find(kEverybody, setup_.granule * (1 + pick(3)), setup_.granule);
    if (!fit) return;
    const std::size_t bytes = setup_.granule;
    HOLDS(model_.every(fit.address, bytes,
                       [](const ModelByte& byte) { return byte.free_for(kEverybody); }));
    model_.set(fit.address, bytes, IntervalModel::kHole);
    engine_.make_hole(engine_.take(fit, bytes));
  }

  void pass(Owner owner, Point point) {
    model_.complete(owner, point);
    engine_.complete(owner, point);
  }

  // The arena ends: a stream has what was its own.
  void inherit() {
    const Owner owner = pick_owner();
    const Stamp stamp{owner, points_[owner]};
    model_.change([&](ModelByte& byte) {
      if (byte.state == ExtentState::free && byte.stamp.owner == kArena) byte.stamp = stamp;
    });
    engine_.restamp(kArena, stamp);
    HOLDS(engine_.pending(kArena) == 0);
  }

  void check_everything() {
    REQUIRE(engine_.validate() == "");
    REQUIRE(model_.compare(engine_) == "");
    const auto common = [](const ModelByte& byte) { return byte.free_for(kEverybody); };
    HOLDS(engine_.counts().free <= model_.count(common));
    HOLDS(engine_.largest_free() <= model_.longest(common));
    std::uint64_t largest = 0;
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      const bool is_free = extent.state == ExtentState::free && extent.stamp.owner == kEverybody;
      if (is_free) largest = std::max<std::uint64_t>(largest, extent.bytes);
    });
    HOLDS(engine_.largest_free() == largest);
  }

  void finish() {
    inherit();
    for (const ExtentId id : used_) engine_.free(id, {1, points_[1]});
    for (Owner owner = 1; owner <= kOwners; ++owner) engine_.complete(owner, points_[owner]);
    // Whatever was put off, the last point of each owner frees it all.
    REQUIRE(engine_.validate() == "");
    HOLDS(engine_.counts().pending == 0);
    HOLDS(engine_.counts().used == 0);
  }

  const Setup setup_;
  SpanEngine engine_;
  IntervalModel model_;
  std::mt19937 random_;
  Point points_[kArena + 1] = {0, 1, 1, 1, 1};
  std::vector<ExtentId> used_;
  std::size_t used_bytes_ = 0;
  SpanTally tally_;
};

void run_seeds(const Setup& setup, unsigned first) {
  for (unsigned seed = first; seed < first + 4; ++seed) {
    INFO("seed " << seed);
    Program program(setup, seed);
    program.run(forebay::pool::test::operations(1'000'000, 10'000));
    const SpanTally& tally = program.tally();
    CHECK(tally.taken > 100);
    CHECK(tally.runs > 0);
    CHECK(tally.stolen > 0);
    CHECK(tally.placed > 10);
    CHECK(tally.undone > 10);
    CHECK(tally.refused > 0);
  }
}

}  // namespace

TEST_CASE("a span engine of small cells agrees with a model of each byte") {
  run_seeds(
      {.granule = 2 * kKiB, .cell = 8 * kKiB, .island = kMiB, .largest = 64 * kKiB, .live = 60}, 1);
}

TEST_CASE("a span engine of large cells agrees with a model of each byte") {
  run_seeds({.granule = 2 * kMiB,
             .cell = 6 * kMiB,
             .island = 1024 * kMiB,
             .largest = 40 * kMiB,
             .live = 150},
            101);
}
