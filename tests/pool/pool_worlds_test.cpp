// Every short program of two streams on a pool with slabs and buddies, in which carriers and blocks
// go from one stream to the other. States that look the same from outside are followed once.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/explore.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::explore;
using forebay::pool::test::kSanitised;
using forebay::pool::test::Shadow;
using forebay::pool::test::World;

namespace {

constexpr std::size_t kWorldHandle = 2 * kMiB;

// What happened in all worlds of a test, so that it can say that each of it did.
struct WorldTally {
  std::size_t adopted = 0;         // a carrier went to another stream with its blocks
  std::size_t foreign = 0;         // a block was freed on another stream than its carrier's
  std::size_t foreign_taken = 0;   // … and taken again there
  std::size_t home = 0;            // … or served its carrier's stream
  std::size_t spares = 0;          // a carrier without a block stayed
  std::size_t spares_dropped = 0;  // … and gave its memory to another request
  std::size_t parked = 0;          // a large block was freed and taken again by its stream
  std::size_t parked_lost = 0;     // … or by the other one
  std::size_t refused = 0;
} world_tally;

class PoolWorld {
 public:
  static constexpr unsigned kOperations = 14;

  PoolWorld()
      : world_(World::Config{.capacity = 2 * kWorldHandle,
                             .handle_size = kWorldHandle,
                             .slab_max_block = 64 * kKiB,
                             .buddy_max_block = kMiB,
                             .point_every_frees = 1,
                             .wait_limit_ms = 0,
                             .streams = 2}),
        shadow_(*world_.timeline) {}

  bool apply(unsigned operation) {
    if (operation < 6) return allocate(1 + operation % 2, kSizes[operation / 2]);
    if (operation < 8) return free(operation == 6, Way::own);
    if (operation < 10) return free(operation == 8, Way::after_a_wait);
    if (operation == 10) return free(true, Way::other);
    if (operation == 11) return use();
    return world_.timeline->run(operation - 11) > 0;
  }

  void before_last() { counted_ = true; }
  void check() const { REQUIRE(world_.sound()); }

  std::string look() const {
    std::string text;
    const auto add = [&](std::uint64_t value) { text += std::to_string(value) + ','; };
    for (const Block& block : live_) {
      add(block.address - base_);
      add(block.stream);
      text += block.shared ? 's' : '-';
    }
    const PoolStats stats = world_.pool.detailed_stats(64);
    for (const MapRange& range : stats.map) {
      add(range.address == 0 ? 0 : range.address - base_);
      add(range.bytes);
      text += range.client[0];
      text += range.state[0];
      add(range.stream);
      add(range.allocated);
      add(range.pending);
      // What waits for whom in it.
      const std::size_t step = range.client == "slab" ? kSizes[0] : kMiB / 2;
      for (std::size_t at = 0; at < range.bytes && range.address != 0; at += step) {
        text += shadow_.waits(range.address + at, 1) ? 'w' : '-';
        text += shadow_.waits(range.address + at, 2) ? 'w' : '-';
      }
    }
    add(world_.timeline->live_points());
    return text;
  }

 private:
  static constexpr std::size_t kSizes[] = {64 * kKiB, kMiB, 3 * kMiB / 2};
  enum class Way { own, other, after_a_wait };
  struct Block {
    Address address;
    std::size_t bytes;
    StreamId stream;
    bool shared;
  };
  struct Freed {
    StreamId on;
    bool foreign;
  };

  // The carrier around an address, or the block itself.
  static MapRange range_of(Address address, const PoolStats& stats) {
    for (const MapRange& range : stats.map) {
      if (range.address <= address && address < range.address + range.bytes) return range;
    }
    return {};
  }

  bool allocate(StreamId stream, std::size_t bytes) {
    const PoolStats before = counted_ ? world_.pool.detailed_stats(64) : PoolStats{};
    void* pointer = nullptr;
    try {
      pointer = world_.pool.allocate(bytes, stream);
    } catch (const OutOfMemory&) {
      // No time passes by itself here.
      REQUIRE_THROWS_AS(world_.pool.allocate(bytes, stream), OutOfMemory);
      ++world_tally.refused;
      return true;
    }
    const auto address = reinterpret_cast<Address>(pointer);
    if (base_ == 0) base_ = address / (64 * kMiB) * (64 * kMiB);
    REQUIRE(world_.source->accessible(address, bytes));
    REQUIRE(shadow_.take(address, bytes, stream) == "");
    live_.push_back({address, bytes, stream, false});
    if (counted_) note_allocation(before, address, stream);
    freed_.erase(address);
    return true;
  }
  void note_allocation(const PoolStats& before, Address address, StreamId stream) {
    const PoolStats after = world_.pool.detailed_stats(64);
    const MapRange range = range_of(address, after);
    const bool carrier = range.client != "span";
    bool stayed = false;  // in a carrier that the stream had before
    for (const MapRange& earlier : before.map) {
      if (!carrier || earlier.address != range.address || earlier.client != range.client) continue;
      stayed = earlier.stream == range.stream;
      world_tally.adopted += stayed ? 0 : 1;
    }
    const bool dropped =
        after.slab.pages < before.slab.pages || after.buddy.chunks < before.buddy.chunks;
    world_tally.spares_dropped += dropped ? 1 : 0;
    const auto freed = freed_.find(address);
    if (freed != freed_.end()) {
      const bool hit = after.ladder.cache.count > before.ladder.cache.count;
      if (freed->second.foreign) {
        if (freed->second.on == stream && range.stream != stream) ++world_tally.foreign_taken;
        if (freed->second.on != stream && range.stream == stream && stayed) ++world_tally.home;
      }
      if (!carrier && freed->second.on == stream && hit) ++world_tally.parked;
      if (!carrier && freed->second.on != stream) ++world_tally.parked_lost;
    }
  }

  bool free(bool oldest, Way way) {
    if (live_.empty() || (!oldest && live_.size() == 1)) return false;
    const auto at = oldest ? live_.begin() : live_.end() - 1;
    const Block block = *at;
    live_.erase(at);
    void* pointer = reinterpret_cast<void*>(block.address);
    const StreamId stream = way == Way::own ? block.stream : 3 - block.stream;
    bool shared = block.shared;
    if (way == Way::other) {
      shared = true;
      REQUIRE(world_.pool.record_use(pointer, block.stream) == Misuse::none);
    } else if (way == Way::after_a_wait) {
      world_.timeline->finish(block.stream);
      shadow_.use(block.address, stream);
    }
    bool foreign = false;
    if (!shared && block.bytes < kSizes[2]) {
      const MapRange range = range_of(block.address, world_.pool.detailed_stats(64));
      foreign = range.client != "span" && range.stream != stream;
    }
    shadow_.give(block.address);
    freed_[block.address] = {stream, foreign};
    REQUIRE(world_.pool.try_deallocate(pointer, stream) == Misuse::none);
    if (!counted_) return true;
    world_tally.foreign += foreign ? 1 : 0;
    const PoolStats after = world_.pool.stats();
    world_tally.spares += (after.slab.pages > 0 && after.slab.blocks == 0) ||
                                  (after.buddy.chunks > 0 && after.buddy.blocks == 0)
                              ? 1
                              : 0;
    return true;
  }
  bool use() {
    if (live_.empty()) return false;
    Block& block = live_.back();
    block.shared = true;
    shadow_.use(block.address, 3 - block.stream);
    REQUIRE(world_.pool.record_use(reinterpret_cast<void*>(block.address), 3 - block.stream) ==
            Misuse::none);
    return true;
  }

  World world_;
  Shadow shadow_;
  std::vector<Block> live_;
  std::map<Address, Freed> freed_;  // the last free of what is not live
  Address base_ = 0;
  bool counted_ = false;  // what happens is, since nobody has seen it yet
};

}  // namespace

TEST_CASE("every short program of two streams on a pool with slabs and buddies") {
  world_tally = {};
  const std::size_t states = explore<PoolWorld>(PoolWorld::kOperations, by_build(5, 3, 2));
  if (kSanitised) return;
  CHECK(states > 20'000);
  CHECK(world_tally.adopted > 0);
  CHECK(world_tally.foreign > 0);
  CHECK(world_tally.foreign_taken > 0);
  CHECK(world_tally.home > 0);
  CHECK(world_tally.spares > 0);
  CHECK(world_tally.spares_dropped > 0);
  CHECK(world_tally.parked > 0);
  CHECK(world_tally.parked_lost > 0);
  CHECK(world_tally.refused > 0);
}
