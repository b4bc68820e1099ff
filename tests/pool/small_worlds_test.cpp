// Every sequence of operations on worlds that are small enough to try them all. States that look
// the same are followed once.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "pool/carrier.hpp"
#include "pool/span_engine.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/explore.hpp"
#include "tests/pool/naive_placement.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/holds.hpp"

using namespace forebay::pool;
using forebay::pool::test::explore;
using forebay::pool::test::kSanitised;
using forebay::pool::test::NaivePlacement;

namespace {

// Span engine ------------------------------------------------------------------------------------

// Eight units in cells of two; two streams that are each other's mirror images.
class SpanWorld {
 public:
  static constexpr unsigned kOperations = 29;

  SpanWorld() : engine_(kCell) {
    engine_.open_owner(1);
    engine_.open_owner(2);
    const ExtentId island = engine_.add_island(kBase, kUnits * kUnit, true);
    engine_.free(engine_.take_hole(island, kBase, 6 * kUnit), {});
    for (unsigned unit = 0; unit < 6; ++unit) model_[unit] = {ExtentState::free, {}};
  }

  bool apply(unsigned operation) {
    if (operation < 6) return take(1 + operation % 2, 1 + operation / 2);
    if (operation < 22) return free((operation - 6) % 8, 1 + (operation - 6) / 8);
    if (operation < 24) return complete(1 + operation % 2);
    if (operation < 26) return fill(1 + operation % 2);
    if (operation == 26) return unmap();
    if (operation == 27) return steal();
    // Time goes on for both.
    if (++clock_ > 4) return false;
    return true;
  }

  void check() {
    REQUIRE(engine_.validate() == "");
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      for (Address at = extent.address; at < extent.end(); at += kUnit) {
        const Unit& unit = model_[(at - kBase) / kUnit];
        HOLDS(unit.state == extent.state);
        if (unit.state != ExtentState::free || unit.stamp.owner == kEverybody) continue;
        HOLDS(unit.stamp.owner == extent.stamp.owner);
        HOLDS(unit.stamp.point <= extent.stamp.point);
      }
    });
    for (const Owner owner : {1u, 2u}) {
      for (const std::size_t units : {1u, 2u, 3u, 5u}) check_search(owner, units * kUnit);
    }
  }

  // The extents with their lists, by address; of the two names that streams may have, the first.
  std::string look() { return std::min(look_as(1), look_as(2)); }

 private:
  static constexpr Address kBase = Address{1} << 30;
  static constexpr std::size_t kUnit = 512, kUnits = 8, kCell = 2 * kUnit;
  struct Unit {
    ExtentState state = ExtentState::hole;
    Stamp stamp;
  };

  void set(Address address, std::size_t bytes, ExtentState state, Stamp stamp) {
    for (Address at = address; at < address + bytes; at += kUnit) {
      model_[(at - kBase) / kUnit] = {state, stamp};
    }
  }
  ExtentId used_at(unsigned unit) {
    ExtentId found = kNoExtent;
    engine_.each([&](ExtentId id, const SpanEngine::Extent& extent) {
      if (extent.state == ExtentState::used && extent.address == kBase + unit * kUnit) found = id;
    });
    return found;
  }
  bool own(const Fit& fit, std::size_t bytes) {
    if (!fit) return false;
    engine_.take(fit, bytes);
    set(fit.address, bytes, ExtentState::used, {});
    return true;
  }
  bool take(Owner owner, std::size_t units) {
    Fit fit = engine_.find(owner, units * kUnit, kUnit);
    if (!fit) fit = engine_.find_run(owner, units * kUnit, kUnit, 100);
    return own(fit, units * kUnit);
  }
  bool free(unsigned unit, Owner owner) {
    const ExtentId id = used_at(unit);
    if (id == kNoExtent) return false;
    const SpanEngine::Extent extent = engine_.at(id);
    const Stamp stamp{owner, clock_};
    set(extent.address, extent.bytes, ExtentState::free, stamp);
    engine_.free(id, stamp);
    return true;
  }
  bool complete(Owner owner) {
    engine_.complete(owner, clock_ - 1);
    for (Unit& unit : model_) {
      const bool passed = unit.stamp.owner == owner && unit.stamp.point <= clock_ - 1;
      if (unit.state == ExtentState::free && passed) unit.stamp = {};
    }
    return true;
  }
  bool fill(Owner owner) {
    const std::size_t bytes = 3 * kUnit;
    if (engine_.find(owner, bytes, kUnit) || engine_.find_run(owner, bytes, kUnit, 100)) {
      return false;
    }
    const SpanEngine::Placement place = engine_.find_placement(owner, bytes, kUnit, kCell);
    const auto best = NaivePlacement(engine_, owner, kCell).best(bytes, kUnit, kCell);
    HOLDS((place.first != kNoExtent) == best.has_value());
    if (!best) return false;
    HOLDS(place.fill == best->fill);
    HOLDS(place.broken == best->broken);
    HOLDS(place.address == best->address);
    ExtentId first = kNoExtent;
    for (const SpanEngine::Part& part : engine_.claim(place, bytes, kCell, 0)) {
      ExtentId covering = kNoExtent;
      if (part.pieces.empty()) {
        set(part.address, part.bytes, ExtentState::free, {});
        covering = engine_.free(part.id, {});
      } else {
        covering = engine_.put_back(part.id, part.pieces);
      }
      if (first == kNoExtent) first = covering;
    }
    return own(engine_.fit_at(first, owner, place.address, bytes), bytes);
  }
  bool unmap() {
    const Fit fit = engine_.find(kEverybody, kCell, kCell);
    if (!fit) return false;
    engine_.make_hole(engine_.take(fit, kCell));
    set(fit.address, kCell, ExtentState::hole, {});
    return true;
  }
  bool steal() {
    Fit fit = engine_.find_oldest(1, 2 * kUnit, kUnit);
    if (!fit) fit = engine_.find_any_run(4 * kUnit, kUnit);
    return own(fit, 2 * kUnit);
  }
  // In so small a world no bound cuts a search short: what is there is found.
  void check_search(Owner owner, std::size_t bytes) {
    std::size_t run = 0, longest = 0, any = 0, longest_any = 0;
    std::size_t tightest = ~std::size_t{0};  // of the runs that have room; memory's end is spared
    const auto end_run = [&](bool top) {
      if (run >= bytes && !top) tightest = std::min(tightest, run);
    };
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      const bool is_free = extent.state == ExtentState::free;
      const bool mine =
          is_free && (extent.stamp.owner == kEverybody || extent.stamp.owner == owner);
      const bool last_hole = extent.state == ExtentState::hole && extent.next == 0;
      if (!mine) end_run(last_hole);
      run = mine ? run + extent.bytes : 0;
      if (mine && extent.next == 0) end_run(true);
      any = is_free ? any + extent.bytes : 0;
      longest = std::max(longest, run);
      longest_any = std::max(longest_any, any);
    });
    const Fit fit = engine_.find(owner, bytes, kUnit);
    HOLDS(static_cast<bool>(fit) == (longest >= bytes));
    HOLDS(static_cast<bool>(engine_.find_run(owner, bytes, kUnit, 100)) <= static_cast<bool>(fit));
    if (fit && tightest != ~std::size_t{0}) HOLDS(fit.rest == tightest - bytes);
    HOLDS(static_cast<bool>(engine_.find_any_run(bytes, kUnit)) == (longest_any >= bytes));
  }
  std::string look_as(Owner first) {
    std::string text(1, static_cast<char>(clock_));
    std::vector<ExtentId> ids(1);
    engine_.each([&](ExtentId id, const SpanEngine::Extent&) { ids.push_back(id); });
    const auto number = [&](ExtentId id) {
      return static_cast<char>('a' + (std::find(ids.begin(), ids.end(), id) - ids.begin()) %
                                         static_cast<std::ptrdiff_t>(ids.size()));
    };
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      const Owner owner = extent.stamp.owner;
      const Owner name = owner == kEverybody ? 0 : owner == first ? 1 : 2;
      const bool listed = extent.state != ExtentState::used;
      const bool queued = extent.state == ExtentState::free && owner != kEverybody;
      text += static_cast<char>(extent.bytes / kUnit);
      text += static_cast<char>('0' + static_cast<int>(extent.state));
      text += static_cast<char>('0' + name);
      text += static_cast<char>(extent.stamp.point);
      text += static_cast<char>(queued ? extent.since : 0);
      text += listed ? number(extent.bin_next) : '-';
      text += queued ? number(extent.queue_next) : '-';
    });
    for (const Unit& unit : model_) {
      text += static_cast<char>(unit.state == ExtentState::free ? unit.stamp.point : 0);
    }
    return text;
  }

  SpanEngine engine_;
  std::array<Unit, kUnits> model_{};
  Point clock_ = 1;
};

// Carriers ---------------------------------------------------------------------------------------

// What a test does to blocks of a carrier beside the carrier's own work.
void set_live(Carrier& carrier, std::uint32_t index, std::size_t bytes, bool live) {
  carrier.slot(index).state = live ? SlotState::live : SlotState::away;
  carrier.slot(index).requested = 1;
  carrier.live += live ? 1u : ~0u;
  carrier.live_bytes += live ? bytes : ~bytes + 1;
}

// A page of eight blocks.
class SlabWorld {
 public:
  static constexpr unsigned kOperations = 19;

  SlabWorld() { page_.open(Address{1} << 30, 1, kSlabClasses - 1); }

  bool apply(unsigned operation) {
    if (operation == 0) {
      const auto lowest = model_.find_first_of("fp");
      if (lowest == std::string::npos) return false;
      HOLDS(!page_.full());
      HOLDS(page_.take() == lowest);
      set_live(page_, static_cast<std::uint32_t>(lowest), page_.block_bytes(), true);
      model_[lowest] = 'u';
      return true;
    }
    if (operation < 17) {
      const std::uint32_t index = (operation - 1) % 8;
      if (model_[index] != 'u') return false;
      set_live(page_, index, page_.block_bytes(), false);
      page_.give(index, operation < 9);
      model_[index] = operation < 9 ? 'p' : 'f';
      return true;
    }
    const bool suspends = operation == 18;
    if (suspends && model_.find('u') != std::string::npos) return false;
    suspends ? page_.suspend() : page_.complete();
    std::replace(model_.begin(), model_.end(), suspends ? 'f' : 'p', suspends ? 'p' : 'f');
    return true;
  }
  void check() {
    REQUIRE(page_.validate() == "");
    const auto waiting = std::count(model_.begin(), model_.end(), 'p');
    HOLDS(page_.pending == static_cast<std::size_t>(waiting) * page_.block_bytes());
  }
  std::string look() const { return model_; }

 private:
  SlabPage page_;
  std::string model_ = "ffffffff";  // free, pending, used
};

// A chunk of eight leaves.
class BuddyWorld {
 public:
  static constexpr unsigned kOperations = 22;

  BuddyWorld() { chunk_.open(Address{1} << 30, 1, kChunkBytes / 8); }

  bool apply(unsigned operation) {
    if (operation < 4) return take(operation);
    if (operation < 20) return give((operation - 4) % 8, operation < 12);
    const bool suspends = operation == 21;
    if (suspends && chunk_.in_use > 0) return false;
    suspends ? chunk_.suspend() : chunk_.complete();
    return true;
  }
  void check() {
    REQUIRE(chunk_.validate() == "");
    for (unsigned order = 0; order < 4; ++order) {
      HOLDS((lowest(order) < 8) == (chunk_.highest_free() >= static_cast<int>(order)));
    }
  }
  std::string look() {
    std::string text = leaves_;
    for (std::uint32_t leaf = 0; leaf < 8; ++leaf) {
      text += static_cast<char>('0' + chunk_.slot(leaf).order);
      text += chunk_.slot(leaf).pending ? 'p' : '-';
    }
    return text;
  }

 private:
  // The lowest aligned run of free leaves, 8 if there is none.
  std::uint32_t lowest(unsigned order) const {
    const std::uint32_t size = 1u << order;
    for (std::uint32_t at = 0; at < 8; at += size) {
      if (leaves_.find_first_not_of('f', at) >= at + size) return at;
    }
    return 8;
  }
  bool take(unsigned order) {
    const std::uint32_t leaf = lowest(order);
    if (leaf == 8) return false;
    HOLDS(chunk_.take(order) == leaf);
    set_live(chunk_, leaf, chunk_.leaf_bytes() << order, true);
    leaves_.replace(leaf, 1u << order, 1u << order, 'u');
    leaves_[leaf] = static_cast<char>('0' + order);
    return true;
  }
  bool give(std::uint32_t leaf, bool pending) {
    if (leaves_[leaf] < '0' || leaves_[leaf] > '9') return false;
    const auto order = static_cast<unsigned>(leaves_[leaf] - '0');
    set_live(chunk_, leaf, chunk_.leaf_bytes() << order, false);
    const std::uint64_t before = chunk_.pending;
    chunk_.give(leaf, pending);
    if (pending) HOLDS(chunk_.pending >= before + (chunk_.leaf_bytes() << order));
    if (!pending) HOLDS(chunk_.pending >= before);
    leaves_.replace(leaf, 1u << order, 1u << order, 'f');
    return true;
  }

  BuddyChunk chunk_;
  std::string leaves_ = "ffffffff";
};

}  // namespace

TEST_CASE("every short program on a span engine of eight units") {
  const std::size_t states = explore<SpanWorld>(SpanWorld::kOperations, kSanitised ? 5 : 8);
  CHECK(states > (kSanitised ? 300u : 15'000u));
}

TEST_CASE("every program on a slab page of eight blocks, however long") {
  // Each block is free, pending or used: 3^8 states, all of which can be reached.
  CHECK(explore<SlabWorld>(SlabWorld::kOperations, kSanitised ? 7 : 100) >=
        (kSanitised ? 100 : 6561));
}

TEST_CASE("every program on a buddy chunk of eight leaves, however long") {
  const std::size_t states = explore<BuddyWorld>(BuddyWorld::kOperations, kSanitised ? 5 : 100);
  CHECK(states > (kSanitised ? 100u : 3'000u));
}
