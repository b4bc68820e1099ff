// Spans that a stream freed last: taken again without the engine, and never in anybody's way.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "pool/span_block.hpp"
#include "pool/span_cache.hpp"
#include "pool/spin_mutex.hpp"
#include "pool/stream_state.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("a cache of spans gives the latest of the same size and alignment") {
  SpanCache cache;
  cache.park({4 * kMiB, 4 * kMiB, 1, 1});
  cache.park({4 * kMiB, 12 * kMiB, 2, 1});
  cache.park({3 * kMiB, 16 * kMiB, 3, 2});
  CHECK(cache.pending() == 11 * kMiB);
  CHECK(cache.take(2 * kMiB, 256) == kNoExtent);
  CHECK(cache.take(4 * kMiB, 8 * kMiB) == kNoExtent);
  CHECK(cache.take(4 * kMiB, 256) == 2);
  CHECK(cache.take(4 * kMiB, 256) == 1);
  CHECK(cache.take(4 * kMiB, 256) == kNoExtent);
  CHECK(cache.take(3 * kMiB, 16 * kMiB) == 3);
  CHECK(cache.empty());
  CHECK(cache.pending() == 0);
  CHECK(cache.pending_delta.now == 0);
  CHECK(cache.pending_delta.high == static_cast<std::int64_t>(11 * kMiB));
}

TEST_CASE("a cache of spans gives the oldest back") {
  SpanCache cache;
  for (ExtentId id = 1; cache.size() < SpanCache::kMost; ++id)
    cache.park({id * kMiB, id * kMiB, id, id});
  std::vector<ExtentId> ids;
  cache.give_back(3, [&](const SpanCache::Entry& entry) { ids.push_back(entry.id); });
  CHECK(ids == std::vector<ExtentId>{1, 2, 3});
  CHECK(cache.size() == SpanCache::kMost - 3);
  CHECK(cache.take(3 * kMiB, 256) == kNoExtent);
  CHECK(cache.take(4 * kMiB, 256) == 4);
  CHECK(cache.take(SpanCache::kMost * kMiB, 256) == SpanCache::kMost);
}

TEST_CASE("records of spans stay where they are") {
  SpanBlocks blocks;
  std::vector<SpanBlock*> seen;
  for (ExtentId id = 1; id < 5000; ++id) {
    blocks.make(id);
    seen.push_back(&blocks.at(id));
  }
  for (ExtentId id = 1; id < 5000; ++id) REQUIRE(&blocks.at(id) == seen[id - 1]);
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  CHECK(blocks.metadata_bytes() < 2 * 5128 * sizeof(SpanBlock));
}

TEST_CASE("a spin mutex lets one thread in at a time") {
  SpinMutex mutex;
  std::uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count == 160'000);
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("a span that was just freed is handed out again, and both ends know what it is") {
  World world;
  void* first = world.pool.allocate(3 * kMiB, 1, {.tag = "first"});
  world.pool.deallocate(first, 1);
  PoolStats stats = world.pool.stats();
  CHECK(stats.span.blocks == 0);
  CHECK(stats.span.allocated == 0);
  CHECK(stats.pending.current == 3 * kMiB);
  CHECK(world.sound());
  CHECK(world.pool.try_deallocate(first, 1) == Misuse::double_free);
  CHECK(world.pool.try_deallocate(static_cast<char*>(first) + kMiB, 1) == Misuse::double_free);
  CHECK(world.pool.record_use(first, 2) == Misuse::double_free);

  void* second = world.pool.allocate(3 * kMiB - 100, 1, {.tag = "second"});
  CHECK(second == first);
  stats = world.pool.stats();
  CHECK(stats.span.blocks == 1);
  CHECK(stats.pending.current == 0);
  CHECK(stats.requested.current == 3 * kMiB - 100);
  CHECK(world.pool.try_deallocate(second, 1, 3 * kMiB) == Misuse::size_mismatch);
  CHECK(world.pool.try_deallocate(static_cast<char*>(second) + kMiB, 1) ==
        Misuse::interior_pointer);
  CHECK(world.sound());
  world.pool.close();
  CHECK(world.logged("second: 1 blocks"));
  CHECK_FALSE(world.logged("first"));
}

TEST_CASE("what a stream parked keeps nobody from memory") {
  World world(World::Config{.capacity = 32 * kMiB, .immediate = true});
  const auto round = [&](StreamId stream) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 8; ++i) blocks.push_back(world.pool.allocate(4 * kMiB, stream));
    for (void* block : blocks) world.pool.deallocate(block, stream);
  };
  round(1);
  CHECK(world.pool.stats().held.current == 32 * kMiB);
  // The whole pool is parked on stream 1: another size there, another stream, small blocks.
  void* whole = world.pool.allocate(32 * kMiB, 1);
  CHECK(world.sound());
  world.pool.deallocate(whole, 1);
  round(2);
  CHECK(world.sound());
  std::vector<void*> small;
  for (int i = 0; i < 1000; ++i) small.push_back(world.pool.allocate(30 * kKiB, 3));
  CHECK(world.sound());
  for (void* block : small) world.pool.deallocate(block, 3);
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.pool.trim() == 32 * kMiB);
  CHECK(world.sound());
}

TEST_CASE("a stream parks so many spans at most") {
  World world(World::Config{.capacity = 1024 * kMiB});
  std::vector<void*> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(world.pool.allocate(2 * kMiB, 1));
  const std::uint64_t extents = world.pool.stats().span.extents;
  for (void* block : blocks) world.pool.deallocate(block, 1);
  CHECK(world.sound());
  // What is not parked has joined its neighbours where their points are the same.
  CHECK(world.pool.stats().span.extents < extents / 2);
  CHECK(world.pool.stats().pending.current == 400 * kMiB);
  // Nothing was pending twice while it was given back.
  CHECK(world.pool.stats().pending.peak == 400 * kMiB);
}

TEST_CASE("a parked span is given to others only once its free has passed") {
  World world(World::Config{.capacity = 4 * kMiB, .point_every_frees = 1000, .wait_limit_ms = 0});
  void* block = world.pool.allocate(4 * kMiB, 1);
  const std::uint64_t work = world.timeline->work(1);
  world.pool.deallocate(block, 1);
  void* other = world.pool.allocate(4 * kMiB, 2);
  REQUIRE(other == block);
  CHECK(world.timeline->ordered(2, 1, work));
  CHECK(world.sound());
}

TEST_CASE("a shared span is not parked, and one of another stream neither") {
  World world;
  void* block = world.pool.allocate(3 * kMiB, 1);
  CHECK(world.pool.record_use(block, 2) == Misuse::none);
  world.pool.deallocate(block, 1);
  CHECK(world.sound());
  void* next = world.pool.allocate(3 * kMiB, 1);
  CHECK(next != block);
  world.pool.deallocate(next, 2);
  CHECK(world.pool.try_deallocate(next, 2) == Misuse::double_free);
  CHECK(world.pool.stats().span.blocks == 0);
  CHECK(world.sound());
  // Stream 2 has it now, stream 1 has not.
  CHECK(world.pool.allocate(3 * kMiB, 2) == next);
}

TEST_CASE("a retired stream leaves no span parked") {
  World world(World::Config{.immediate = true});
  world.pool.deallocate(world.pool.allocate(5 * kMiB, 1), 1);
  CHECK(world.pool.retire_stream(1));
  CHECK(world.pool.stats().pending.current == 0);
  CHECK(world.pool.stats().streams.empty());
  CHECK(world.sound());
}

TEST_CASE("a stream that nobody waits for records points ever more rarely") {
  World world;
  for (int i = 0; i < 100'000; ++i) {
    world.pool.deallocate(world.pool.allocate(3 * kMiB, 1), 1);
    world.pool.deallocate(world.pool.allocate(1000, 1), 1);
  }
  // After 32 frees, half of which leave handles idle, then after twice as many each time, and from
  // the ninth point on after 256 × 32.
  const std::uint64_t records = world.pool.stats().timeline.records;
  CHECK(records <= 9 + 200'000 / (256 * 32));
  // With each it asks whether the newest and the oldest of those before it have passed.
  CHECK(world.pool.stats().timeline.queries <= 2 * records);
  CHECK(world.sound());
}

namespace {

/// Stream 1 allocates and stream 2 frees, so many at a time.
class Couple {
 public:
  explicit Couple(std::size_t batch) : blocks_(batch) {}
  void produce() {
    for (void*& block : blocks_) block = world.pool.allocate(2 * kMiB, 1);
  }
  void consume() {
    for (void* block : blocks_) world.pool.deallocate(block, 2);
  }
  void consume_itself() {
    for (void* block : blocks_) world.pool.deallocate(block, 1);
  }
  [[nodiscard]] std::uint64_t pending_of(StreamId stream) const {
    for (const StreamStats& of : world.pool.stats().streams) {
      if (of.id == stream) return of.pending;
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t free_in_ranges() const {
    return world.pool.stats().fragmentation.free_in_ranges;
  }

  World world{World::Config{.immediate = true}};

 private:
  std::vector<void*> blocks_;
};

}  // namespace

TEST_CASE("spans that one stream allocates and another frees go round without the engine") {
  Couple couple(16);
  couple.produce();
  couple.consume();
  for (int round = 0; round < 20; ++round) {
    INFO("round " << round);
    CHECK(couple.pending_of(2) == 16 * 2 * kMiB);
    void* first = couple.world.pool.allocate(2 * kMiB, 1);
    // All of them moved over.
    CHECK(couple.pending_of(1) == 15 * 2 * kMiB);
    CHECK(couple.pending_of(2) == 0);
    CHECK(couple.free_in_ranges() == 0);
    couple.world.pool.deallocate(first, 1);
    couple.produce();
    CHECK(couple.free_in_ranges() == 0);
    couple.consume();
    REQUIRE(couple.world.sound());
  }
  CHECK(couple.world.pool.stats().held.peak == 16 * 2 * kMiB);
}

TEST_CASE("a stream whose spans others free takes several at once, and forgets that") {
  Couple couple(64);
  for (int round = 0; round < 10; ++round) {
    couple.produce();
    couple.consume();
  }
  // What its cache had no room for went to the engine, of which a look takes half a cache more.
  couple.world.pool.trim(64 * 2 * kMiB);
  void* first = couple.world.pool.allocate(2 * kMiB, 1);
  CHECK(couple.pending_of(1) == kMostParkedSpans / 2 * 2 * kMiB);
  couple.world.pool.deallocate(first, 1);
  // Whatever it did before that miss.
  couple.world.pool.trim(64 * 2 * kMiB);
  void* second = couple.world.pool.allocate(2 * kMiB, 1);
  CHECK(couple.pending_of(1) == 0);
  couple.world.pool.deallocate(second, 1);
  REQUIRE(couple.world.sound());
  CHECK(couple.world.pool.stats().held.peak == 64 * 2 * kMiB);
}

TEST_CASE("a stream takes no more bytes at once than others have freed") {
  World world(World::Config{.capacity = 512 * kMiB, .device = 512 * kMiB});
  std::vector<void*> small, large;
  for (int i = 0; i < 8; ++i) small.push_back(world.pool.allocate(2 * kMiB, 1));
  for (int i = 0; i < 9; ++i) large.push_back(world.pool.allocate(48 * kMiB, 3));
  for (void* block : large) world.pool.deallocate(block, 3);
  world.timeline->run_all();
  world.pool.trim(512 * kMiB);
  for (void* block : small) world.pool.deallocate(block, 2);
  void* block = world.pool.allocate(48 * kMiB, 1);
  for (const StreamStats& of : world.pool.stats().streams) CHECK((of.id == 2 || of.pending == 0));
  CHECK(world.sound());
  world.pool.deallocate(block, 1);
}

TEST_CASE("a parked span moves to no stream before its free has passed") {
  World world(World::Config{.capacity = 8 * kMiB});
  void* block = world.pool.allocate(2 * kMiB, 1);
  world.timeline->work(2);
  world.pool.deallocate(block, 2);
  void* other = world.pool.allocate(2 * kMiB, 1);
  CHECK(other != block);
  world.timeline->run_all();
  void* third = world.pool.allocate(2 * kMiB, 3);
  CHECK(third == block);
  CHECK(world.sound());
  world.pool.deallocate(third, 3);
  world.pool.deallocate(other, 1);
}
