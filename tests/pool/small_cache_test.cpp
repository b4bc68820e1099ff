#include "pool/small_cache.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kCacheBase = Address{1} << 30;
constexpr unsigned kClass = 40;  // large blocks, few a page
constexpr ClassKey kOrder = kSlabClasses + 1;

struct CacheBench {
  SlabPage* page(unsigned class_index = kClass) {
    auto owned = std::make_unique<SlabPage>();
    owned->open(kCacheBase + carriers.size() * 4 * kMiB, 1, class_index);
    carriers.push_back(std::move(owned));
    cache.add(carriers.back().get());
    return static_cast<SlabPage*>(carriers.back().get());
  }
  BuddyChunk* chunk(std::size_t leaf_bytes = 256 * kKiB) {
    auto owned = std::make_unique<BuddyChunk>();
    owned->open(kCacheBase + carriers.size() * 4 * kMiB, 1, leaf_bytes);
    carriers.push_back(std::move(owned));
    cache.add(carriers.back().get());
    return static_cast<BuddyChunk*>(carriers.back().get());
  }
  SmallCache::Block take(ClassKey key) {
    const SmallCache::Block block = cache.take(key);
    if (block) cache.occupy(block, nullptr, 1, nullptr);
    return block;
  }
  Carrier* give(const SmallCache::Block& block, bool pending, Point point) {
    cache.vacate(block);
    return cache.give(block, pending, point);
  }
  std::vector<std::unique_ptr<Carrier>> carriers;
  SmallCache cache;
};

}  // namespace

TEST_CASE("a ring is a queue that can give back its newest element") {
  Ring<int> ring;
  std::deque<int> model;
  std::mt19937 random(2);
  for (int i = 0; i < 10'000; ++i) {
    if (random() % 5 < 2 || model.empty()) {
      ring.push(i);
      model.push_back(i);
    } else if (random() % 2 == 0) {
      REQUIRE(ring.pop_front() == model.front());
      model.pop_front();
    } else {
      REQUIRE(ring.pop_back() == model.back());
      model.pop_back();
    }
    REQUIRE(ring.size() == model.size());
    if (!model.empty()) REQUIRE(ring.front() == model.front());
  }
}

TEST_CASE("the latest freed buddy block of a size waits whole for the next request of that size") {
  CacheBench bench;
  BuddyChunk* chunk = bench.chunk();
  const SmallCache::Block first = bench.take(kSlabClasses);
  const SmallCache::Block second = bench.take(kSlabClasses);
  const SmallCache::Block large = bench.take(kSlabClasses + 1);
  const std::size_t leaf = chunk->leaf_bytes();
  const auto park = [&](const SmallCache::Block& block) {
    bench.cache.vacate(block);
    return bench.cache.park(block, 7);
  };
  REQUIRE(park(first) == nullptr);
  REQUIRE(park(large) == nullptr);
  CHECK(bench.cache.pending() == 3 * leaf);
  CHECK(bench.cache.parks_in(chunk));
  CHECK(chunk->in_use == 3);
  CHECK(chunk->pending == 0);
  CHECK(bench.cache.validate() == "");
  // A second one of a size joins its neighbours.
  REQUIRE(park(second) == nullptr);
  CHECK(chunk->in_use == 2);
  CHECK(chunk->pending == leaf);
  CHECK(bench.cache.pending() == 4 * leaf);
  const std::uint64_t probes = bench.cache.probes();
  const SmallCache::Block again = bench.take(kSlabClasses);
  CHECK(again.index == first.index);
  CHECK(bench.cache.probes() == probes);
  CHECK(bench.cache.validate() == "");
  std::vector<Point> points;
  bench.cache.unpark([&](const SmallCache::Block& block, Point point) {
    CHECK(block.index == large.index);
    points.push_back(point);
    CHECK(bench.cache.give(block, true, 8) == nullptr);
  });
  CHECK(points == std::vector<Point>{7});
  CHECK_FALSE(bench.cache.parks());
  CHECK(bench.cache.pending() == 3 * leaf);
  CHECK(bench.cache.validate() == "");
}

TEST_CASE("the second empty carrier goes back, the first one stays") {
  CacheBench bench;
  bench.page();
  std::vector<SmallCache::Block> blocks;
  while (const auto block = bench.take(kClass)) blocks.push_back(block);
  const std::size_t first = blocks.size();
  bench.page();
  while (const auto block = bench.take(kClass)) blocks.push_back(block);
  REQUIRE(blocks.size() == 2 * first);
  // The second page empties while the first is full: it stays.
  for (std::size_t i = first; i < 2 * first; ++i) CHECK(bench.give(blocks[i], false, 0) == nullptr);
  // The first page empties: one of the two goes back.
  for (std::size_t i = 1; i < first; ++i) CHECK(bench.give(blocks[i], true, 3) == nullptr);
  Carrier* empty = bench.give(blocks[0], true, 3);
  REQUIRE(empty != nullptr);
  CHECK(empty->in_use == 0);
  CHECK(bench.cache.validate() == "");
  bench.cache.remove(empty);
  CHECK(bench.cache.validate() == "");
  CHECK(bench.cache.any_empty() != nullptr);
}

TEST_CASE("of two empty chunks the lower one stays") {
  CacheBench bench;
  bench.chunk();
  const BuddyChunk* upper = bench.chunk();
  std::vector<SmallCache::Block> blocks;
  while (const auto block = bench.take(kOrder)) blocks.push_back(block);
  REQUIRE(blocks.size() == 8);
  for (std::size_t i = 7; i > 0; --i) CHECK(bench.give(blocks[i], false, 0) == nullptr);
  CHECK(bench.give(blocks[0], false, 0) == upper);
  CHECK(bench.cache.validate() == "");
}

TEST_CASE("what has passed is pending no more, in the order of the points") {
  CacheBench bench;
  bench.page();
  bench.chunk();
  std::vector<SmallCache::Block> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(bench.take(kClass));
  for (int i = 0; i < 3; ++i) blocks.push_back(bench.take(kOrder));
  bench.give(blocks[0], true, 1);
  bench.give(blocks[3], true, 2);
  bench.give(blocks[1], true, 3);
  const std::uint64_t slab = 2 * slab_bytes(kClass);
  CHECK(bench.cache.pending() == slab + 512 * kKiB);
  CHECK(bench.cache.validate() == "");
  std::vector<SmallCache::Foreign> home(8);
  CHECK(bench.cache.complete(1, home) == 0);
  // The page was freed in again at point 3, so all of it waits for that.
  CHECK(bench.cache.pending() == slab + 512 * kKiB);
  CHECK(bench.cache.complete(2, home) == 0);
  CHECK(bench.cache.pending() == slab);
  CHECK(bench.cache.complete(3, home) == 0);
  CHECK(bench.cache.pending() == 0);
  CHECK(bench.cache.validate() == "");
}

TEST_CASE("foreign blocks are taken newest first and go home oldest first") {
  CacheBench bench;
  SlabPage* page = bench.page();
  for (std::uint32_t i = 0; i < 5; ++i) bench.cache.add_foreign(kClass, {page, i, i / 2 + 1, 100});
  CHECK(bench.cache.pending() == 500);
  SmallCache::Foreign foreign;
  REQUIRE(bench.cache.take_foreign(kClass, &foreign));
  CHECK(foreign.index == 4);
  CHECK_FALSE(bench.cache.take_foreign(kClass + 1, &foreign));
  std::vector<SmallCache::Foreign> home(1);
  REQUIRE(bench.cache.complete(1, home) == 1);  // full: there may be more
  CHECK(home[0].index == 0);
  home.resize(5);
  REQUIRE(bench.cache.complete(1, home) == 1);
  CHECK(home[0].index == 1);
  CHECK(bench.cache.pending() == 200);
  CHECK(bench.cache.foreign_blocks() == 2);
}

namespace {

struct Probes {
  double worst, mean;
};

// What a `take` looks at while one of `live` blocks goes and another comes, at random.
Probes churn(ClassKey first, ClassKey last, std::size_t live) {
  CacheBench bench;
  std::mt19937 random(5);
  std::vector<SmallCache::Block> blocks;
  Probes probes{0, 0};
  std::uint64_t before = 0;
  const auto take = [&] {
    const auto key = static_cast<ClassKey>(first + random() % (last - first + 1u));
    before = bench.cache.probes();
    SmallCache::Block block = bench.take(key);
    if (!block) {
      if (key < kSlabClasses) {
        bench.page(key);
      } else {
        bench.chunk(64 * kKiB);
      }
      before = bench.cache.probes();
      block = bench.take(key);
    }
    return block;
  };
  while (blocks.size() < live) blocks.push_back(take());
  constexpr unsigned kChurns = 20'000;
  for (unsigned i = 0; i < kChurns; ++i) {
    SmallCache::Block& block = blocks[random() % blocks.size()];
    if (Carrier* empty = bench.give(block, false, 0)) bench.cache.remove(empty);
    block = take();
    const auto looked = static_cast<double>(bench.cache.probes() - before);
    probes.worst = std::max(probes.worst, looked);
    probes.mean += looked / kChurns;
  }
  return probes;
}

}  // namespace

TEST_CASE("finding a slab block looks at one page and four words, whatever lives") {
  for (const std::size_t live : {std::size_t{100}, std::size_t{10'000}, std::size_t{200'000}}) {
    INFO(live << " live blocks");
    const Probes probes = churn(0, 39, live);
    CHECK(probes.worst <= 5);
    CHECK(probes.mean <= 3);
  }
}

TEST_CASE("finding a buddy block looks at a logarithm of the chunks") {
  const Probes few = churn(kSlabClasses, kSlabClasses + 2, 1000);
  const Probes many = churn(kSlabClasses, kSlabClasses + 2, 16'000);
  CHECK(few.mean <= 30);
  CHECK(many.mean <= few.mean + 3 * 4);
}
