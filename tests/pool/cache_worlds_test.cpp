// Every short sequence of operations on a stream's small memory: two carriers that come and go, and
// blocks of other streams.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "pool/small_cache.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/explore.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::explore;
using forebay::pool::test::kSanitised;

namespace {

// What happened in all worlds of a test, so that it can say that each of it did.
struct CacheTally {
  std::size_t kept = 0, went_back = 0, own_pending = 0, adopted = 0, suspended = 0;
  std::size_t foreign_taken = 0, went_home = 0, passed = 0, put_off = 0;
} tally;

enum class What { page, chunk };

// The blocks of a page come in three parts, its first six together and two alone; those of a chunk
// in its two leaves. A part is free, pending, used or away, or belongs to the block before it.
template <What First, What Second>
class CacheWorld {
 public:
  static constexpr unsigned kOperations = 34;

  CacheWorld() {
    for (unsigned i = 0; i < 2; ++i) models_[i].parts.resize(is_page(i) ? 3 : 2);
    add(0, false);
  }

  bool apply(unsigned operation) {
    if (operation < 3) return take(kKeys[operation]);
    if (operation < 21) {
      const unsigned i = (operation - 3) / 9, part = (operation - 3) % 3;
      if (part >= models_[i].parts.size()) return false;
      const std::array ways{&CacheWorld::give, &CacheWorld::send_away, &CacheWorld::send_home};
      return (this->*ways[(operation - 3) / 3 % 3])(i, part);
    }
    if (operation < 23) return remove(operation - 21);
    if (operation < 27) return add((operation - 23) / 2, operation % 2 == 0);
    if (operation < 29) return add_foreign(kKeys[operation - 27]);
    if (operation < 31) return take_foreign(kKeys[operation - 29]);
    if (operation < 33) return complete(clock_ - (operation - 30));
    ++clock_;
    return true;
  }

  void check() const {
    REQUIRE(cache_.validate() == "");
    std::uint64_t least = 0, most = 0, exact = 0;
    std::size_t in = 0, page_live = 0, chunk_live = 0;
    bool any_empty = false;
    for (unsigned i = 0; i < 2; ++i) {
      const Model& model = models_[i];
      if (!model.in) continue;
      ++in;
      std::size_t blocks = 0;
      for (unsigned part = 0; part < model.parts.size(); ++part) {
        const char state = model.parts[part].state;
        if (state == 'p') least += part_bytes(i, part);
        if (state == 'p' || state == 'f') most += part_bytes(i, part);
        if (state == 'u') (is_page(i) ? page_live : chunk_live) += count(i, part);
        blocks += state == 'u' || state == 'a' ? count(i, part) : 0;
      }
      exact += carrier(i).pending;
      any_empty = any_empty || blocks == 0;
      REQUIRE(carrier(i).in_use == blocks);
    }
    // Of a chunk more may be pending than was freed so: free buddies that join wait for both.
    REQUIRE(exact >= least);
    REQUIRE(exact <= most);
    if (is_page(0) && is_page(1)) REQUIRE(exact == least);
    for (const Stranger& stranger : foreign_) exact += stranger.key < kSlabClasses ? kBlock : kLeaf;
    REQUIRE(cache_.pending() == exact);
    REQUIRE(cache_.carriers().size() == in);
    REQUIRE(cache_.foreign_blocks() == foreign_.size());
    REQUIRE(cache_.counts()[kClass].live == page_live);
    REQUIRE(cache_.counts()[kSlabClasses].live == chunk_live);
    REQUIRE((cache_.any_empty() != nullptr) == any_empty);
    for (const ClassKey key : kKeys) {
      const bool room = has_room(0, key) || has_room(1, key);
      REQUIRE((cache_.with_room(key) != nullptr) == room);
    }
  }

  std::string look() const {
    std::string text;
    // Of two points only the order counts; what is older than two goes with the next completion.
    const auto age = [&](Point point) {
      text += static_cast<char>('0' + std::min<Point>(clock_ - point, 2));
    };
    const auto name = [&](const Carrier* of) {
      text += of == nullptr ? '-' : of == &carrier(0) ? '0' : '1';
    };
    for (unsigned i = 0; i < 2; ++i) {
      const Model& model = models_[i];
      const Carrier& of = carrier(i);
      text += model.in ? 'i' : 'o';
      for (const Part& part : model.parts) {
        text += part.state;
        if (part.state == 'p') age(part.point);
      }
      if (!model.in) continue;
      text += of.listed ? 'l' : '-';
      name(of.list_next);
      name(of.next);
      name(of.queue_next);
      if (of.queued) age(of.last_point);
      for (std::uint32_t leaf = 0; leaf < 2 && !is_page(i); ++leaf) {
        text += static_cast<char>('0' + of.slot(leaf).order);
        text += of.slot(leaf).pending ? 'p' : '-';
      }
    }
    text += static_cast<char>('1' + spare_);
    for (const Stranger& stranger : foreign_) {
      text += stranger.key < kSlabClasses ? 's' : 'b';
      text += static_cast<char>('0' + stranger.index);
      age(stranger.point);
    }
    return text;
  }

 private:
  static constexpr Address kBase = Address{1} << 30;
  static constexpr unsigned kClass = kSlabClasses - 1;  // eight blocks a page
  static constexpr std::size_t kBlock = slab_bytes(kClass), kLeaf = kChunkBytes / 2;
  static constexpr std::array<ClassKey, 3> kKeys{kClass, kSlabClasses, kSlabClasses + 1};
  struct Part {
    char state = 'f';
    Point point = 0;  // of what is pending
  };
  struct Model {
    bool in = false;     // the cache has it
    Point point = 0;     // for which all that is pending in it waits
    bool whole = false;  // a chunk in one block
    std::vector<Part> parts;
  };
  struct Stranger {
    ClassKey key;
    std::uint32_t index;
    Point point;
  };

  static constexpr bool is_page(unsigned i) { return (i == 0 ? First : Second) == What::page; }
  Carrier& carrier(unsigned i) {
    return is_page(i) ? static_cast<Carrier&>(pages_[i]) : static_cast<Carrier&>(chunks_[i]);
  }
  const Carrier& carrier(unsigned i) const { return const_cast<CacheWorld*>(this)->carrier(i); }
  // The first block of a part, and how many there are.
  static std::uint32_t first(unsigned i, unsigned part) {
    return is_page(i) && part > 0 ? 5 + part : part;
  }
  static std::uint32_t count(unsigned i, unsigned part) { return is_page(i) && part == 0 ? 6 : 1; }
  static std::size_t part_bytes(unsigned i, unsigned part) {
    return is_page(i) ? count(i, part) * kBlock : kLeaf;
  }
  static bool is_free(const Part& part) { return part.state == 'f' || part.state == 'p'; }
  [[nodiscard]] bool is_empty(unsigned i) const {
    const auto& parts = models_[i].parts;
    return std::all_of(parts.begin(), parts.end(), is_free);
  }
  [[nodiscard]] bool has_room(unsigned i, ClassKey key) const {
    const Model& model = models_[i];
    if (!model.in || is_page(i) != (key < kSlabClasses)) return false;
    if (key > kSlabClasses) return is_empty(i);
    return std::any_of(model.parts.begin(), model.parts.end(), is_free);
  }

  bool take(ClassKey key) {
    const bool room = has_room(0, key) || has_room(1, key);
    const SmallCache::Block block = cache_.take(key);
    REQUIRE(static_cast<bool>(block) == room);
    if (!room) return false;
    const unsigned i = block.carrier == &carrier(0) ? 0 : 1;
    REQUIRE(block.carrier == &carrier(i));
    REQUIRE(has_room(i, key));
    if (!is_page(i) && i == 1) REQUIRE_FALSE(has_room(0, key));  // the lower chunk first
    Model& model = models_[i];
    // The lowest free part.
    unsigned part = 0;
    while (!is_free(model.parts[part])) ++part;
    REQUIRE(block.index == first(i, part));
    cache_.occupy(block, nullptr, 1, nullptr);
    for (std::uint32_t more = 1; more < count(i, part); ++more) {
      const SmallCache::Block next = cache_.take(key);
      REQUIRE(next.carrier == block.carrier);
      REQUIRE(next.index == block.index + more);
      cache_.occupy(next, nullptr, 1, nullptr);
    }
    tally.own_pending += model.parts[part].state == 'p' ? 1 : 0;
    model.parts[part].state = 'u';
    model.whole = key > kSlabClasses;
    if (model.whole) model.parts[1].state = '-';
    if (spare_ == static_cast<int>(i)) spare_ = -1;
    return true;
  }

  // The block of a part, all of it, is free again.
  bool give_back(unsigned i, unsigned part, bool pending) {
    Model& model = models_[i];
    Carrier* gone = nullptr;
    for (std::uint32_t b = 0; b < count(i, part); ++b) {
      const SmallCache::Block block{&carrier(i), first(i, part) + b};
      REQUIRE(gone == nullptr);
      if (pending) cache_.vacate(block);
      gone = pending ? cache_.give(block, true, clock_) : cache_.give_lent(block);
    }
    const Part now{pending ? 'p' : 'f', clock_};
    if (pending) model.point = clock_;
    model.parts[part] = now;
    if (model.whole) model.parts[1] = now;
    model.whole = false;
    // What has to go back: one too many that are empty.
    Carrier* expected = nullptr;
    const unsigned other = 1 - i;
    if (is_empty(i) && is_page(i)) {
      if (has_room(other, kClass)) expected = &carrier(i);
    } else if (is_empty(i)) {
      if (spare_ >= 0) expected = &carrier(1);
      spare_ = 0 <= spare_ ? 0 : static_cast<int>(i);
    }
    REQUIRE(gone == expected);
    tally.kept += is_empty(i) && gone == nullptr ? 1 : 0;
    if (gone == nullptr) return true;
    ++tally.went_back;
    const unsigned index = gone == &carrier(0) ? 0 : 1;
    REQUIRE(is_empty(index));
    cache_.remove(gone);
    models_[index].in = false;
    return true;
  }
  bool give(unsigned i, unsigned part) {
    if (!models_[i].in || models_[i].parts[part].state != 'u') return false;
    return give_back(i, part, true);
  }
  // Another stream frees it; and what another stream freed comes home.
  bool send_away(unsigned i, unsigned part) {
    if (!models_[i].in || models_[i].parts[part].state != 'u') return false;
    for (std::uint32_t b = 0; b < count(i, part); ++b) {
      cache_.lend({&carrier(i), first(i, part) + b});
    }
    models_[i].parts[part].state = 'a';
    return true;
  }
  bool send_home(unsigned i, unsigned part) {
    if (!models_[i].in || models_[i].parts[part].state != 'a') return false;
    return give_back(i, part, false);
  }

  // Another stream adopts a carrier with room.
  bool remove(unsigned i) {
    if (!has_room(i, kClass) && !has_room(i, kSlabClasses)) return false;
    cache_.remove(&carrier(i));
    models_[i].in = false;
    if (spare_ == static_cast<int>(i)) spare_ = -1;
    return true;
  }
  // A carrier with something in use was another stream's; one without is made anew.
  bool add(unsigned i, bool suspended) {
    Model& model = models_[i];
    const bool anew = is_empty(i);
    if (model.in || (suspended && !anew)) return false;
    Carrier& of = carrier(i);
    if (anew) {
      if (is_page(i)) {
        pages_[i].open(kBase + i * kChunkBytes, 1, kClass);
      } else {
        chunks_[i].open(kBase + i * kChunkBytes, 1, kLeaf);
      }
      for (Part& part : model.parts) part = {suspended ? 'p' : 'f', clock_};
      if (suspended) of.suspend();
    }
    tally.suspended += suspended ? 1 : 0;
    if (of.pending > 0) {
      // Only this stream is ordered after those frees: they wait for its own points now.
      of.last_point = model.point = clock_;
      for (Part& part : model.parts) part.point = clock_;
      tally.adopted += anew ? 0 : 1;
    }
    cache_.add(&of);
    model.in = true;
    if (!is_page(i) && anew && spare_ < 0) spare_ = static_cast<int>(i);
    return true;
  }

  bool add_foreign(ClassKey key) {
    const auto taken = [&](std::uint32_t index) {
      return std::any_of(foreign_.begin(), foreign_.end(), [&](const Stranger& stranger) {
        return stranger.key == key && stranger.index == index;
      });
    };
    const std::uint32_t index = taken(0) ? 1 : 0;
    if (taken(index) || !(is_page(0) == (key == kClass) || is_page(1) == (key == kClass))) {
      return false;
    }
    const std::size_t bytes = key == kClass ? kBlock : kLeaf;
    cache_.add_foreign(key, {&strange_, index, clock_, static_cast<std::uint32_t>(bytes)});
    foreign_.push_back({key, index, clock_});
    return true;
  }
  bool take_foreign(ClassKey key) {
    const auto latest = std::find_if(foreign_.rbegin(), foreign_.rend(),
                                     [key](const Stranger& of) { return of.key == key; });
    SmallCache::Foreign foreign;
    REQUIRE(cache_.take_foreign(key, &foreign) == (latest != foreign_.rend()));
    if (latest == foreign_.rend()) return false;
    REQUIRE(foreign.carrier == &strange_);
    REQUIRE(foreign.index == latest->index);
    REQUIRE(foreign.point == latest->point);
    foreign_.erase(std::next(latest).base());
    ++tally.foreign_taken;
    return true;
  }

  bool complete(Point passed) {
    std::vector<SmallCache::Foreign> home(foreign_.size() + 1);
    home.resize(cache_.complete(passed, home));
    for (const SmallCache::Foreign& block : home) {
      const auto oldest = std::find_if(foreign_.begin(), foreign_.end(), [&](const Stranger& of) {
        return (of.key == kClass) == (block.bytes == kBlock);
      });
      REQUIRE(oldest != foreign_.end());
      REQUIRE(block.index == oldest->index);
      REQUIRE(oldest->point <= passed);
      foreign_.erase(oldest);
      ++tally.went_home;
    }
    for (const Stranger& stranger : foreign_) REQUIRE(stranger.point > passed);
    for (unsigned i = 0; i < 2; ++i) {
      Model& model = models_[i];
      for (Part& part : model.parts) {
        if (!model.in || part.state != 'p' || part.point > passed) continue;
        (model.point <= passed ? tally.passed : tally.put_off) += 1;
        if (model.point <= passed) part.state = 'f';
      }
    }
    return true;
  }

  std::array<SlabPage, 2> pages_;
  std::array<BuddyChunk, 2> chunks_;
  SlabPage strange_;  // another stream's, which a cache does not touch
  SmallCache cache_;
  std::array<Model, 2> models_;
  std::deque<Stranger> foreign_;
  Point clock_ = 3;
  int spare_ = -1;  // the empty chunk that stays
};

template <What First, What Second>
void try_everything(unsigned depth, std::size_t least) {
  using World = CacheWorld<First, Second>;
  tally = {};
  const std::size_t states = explore<World>(World::kOperations, by_build(depth, 4u, 3u));
  if (kSanitised) return;
  CHECK(states > least);
  CHECK(tally.kept > 0);
  CHECK((tally.went_back > 0 || First != Second));
  CHECK(tally.own_pending > 0);
  CHECK(tally.adopted > 0);
  CHECK(tally.suspended > 0);
  CHECK(tally.foreign_taken > 0);
  CHECK(tally.went_home > 0);
  CHECK(tally.passed > 0);
  CHECK(tally.put_off > 0);
}

}  // namespace

TEST_CASE("every short program on the small memory of a stream with two pages") {
  try_everything<What::page, What::page>(9, 30'000);
}

TEST_CASE("every short program on the small memory of a stream with two chunks") {
  try_everything<What::chunk, What::chunk>(9, 20'000);
}

TEST_CASE("every short program on the small memory of a stream with a page and a chunk") {
  try_everything<What::page, What::chunk>(8, 40'000);
}
