// Every short program of two streams on a pool of four handles. States that look the same from
// outside are followed once.
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::by_build;
using forebay::pool::test::kSanitised;
using forebay::pool::test::Shadow;
using forebay::pool::test::TimeCall;
using forebay::pool::test::World;

namespace {

constexpr std::size_t kLadderHandle = 2 * kMiB;

class LadderWorld {
 public:
  static constexpr unsigned kOperations = 13;

  explicit LadderWorld(const Ladder& ladder)
      : world_(World::Config{.capacity = 4 * kLadderHandle,
                             .handle_size = kLadderHandle,
                             .slab_max_block = 0,
                             .buddy_max_block = 0,
                             .soft_limit = 3 * kLadderHandle,
                             .ladder = ladder,
                             .point_every_frees = 1,
                             .wait_limit_ms = 0,
                             .streams = 2}),
        shadow_(*world_.timeline) {}

  // False where the operation means nothing.
  bool apply(unsigned operation) {
    if (operation < 6) return allocate(1 + operation % 2, kSizes[operation / 2]);
    if (operation < 9) return free(operation != 7, 1 + operation % 2);
    if (operation == 9) return use(2);
    if (operation < 12) {
      const std::size_t done = world_.timeline->run(1 + operation % 2, 3);
      done_[operation % 2] += done;
      return done > 0;
    }
    world_.pool.trim(2 * kLadderHandle);
    return true;
  }

  void check() const { REQUIRE(world_.sound()); }

  // Who has what, whose work on it is not done, and how far each stream is.
  std::string look() const {
    std::string text;
    const auto add = [&](std::uint64_t value) { text += std::to_string(value) + ','; };
    for (const Block& block : live_) {
      add(block.address - base_);
      add(block.bytes);
      add(block.stream);
    }
    const PoolStats stats = world_.pool.stats();
    add(stats.mapped.current);
    add(stats.idle_handles.current);
    for (const StreamStats& stream : stats.streams) {
      add(stream.id);
      add(stream.pending);
    }
    for (std::size_t at = 0; at < 32 * kLadderHandle; at += kLadderHandle / 2) {
      text += world_.source->accessible(base_ + at, 512) ? 'm' : '-';
      text += shadow_.waits(base_ + at, 1) ? 'w' : '-';
      text += shadow_.waits(base_ + at, 2) ? 'w' : '-';
    }
    add(world_.timeline->live_points());
    // Work, records and waits that are not done yet, and whose.
    add(world_.hooks->calls(TimeCall::record) + world_.hooks->calls(TimeCall::wait) + works_ -
        done_[0] - done_[1]);
    add(done_[0]);
    return text;
  }
  [[nodiscard]] const World& world() const { return world_; }

 private:
  static constexpr std::size_t kSizes[] = {kLadderHandle / 2, kLadderHandle + kLadderHandle / 2,
                                           3 * kLadderHandle};
  struct Block {
    Address address;
    std::size_t bytes;
    StreamId stream;
  };

  bool allocate(StreamId stream, std::size_t bytes) {
    void* pointer = nullptr;
    try {
      pointer = world_.pool.allocate(bytes, stream);
    } catch (const OutOfMemory&) {
      // No time passes by itself here.
      REQUIRE_THROWS_AS(world_.pool.allocate(bytes, stream), OutOfMemory);
      return true;
    }
    const auto address = reinterpret_cast<Address>(pointer);
    if (base_ == 0) base_ = address / (64 * kMiB) * (64 * kMiB);
    REQUIRE(world_.source->accessible(address, bytes));
    REQUIRE(shadow_.take(address, bytes, stream) == "");
    live_.push_back({address, bytes, stream});
    ++works_;
    return true;
  }
  bool free(bool oldest, StreamId stream) {
    if (live_.empty() || (!oldest && live_.size() == 1)) return false;
    const auto at = oldest ? live_.begin() : live_.end() - 1;
    const Block block = *at;
    live_.erase(at);
    void* pointer = reinterpret_cast<void*>(block.address);
    if (block.stream != stream) {
      REQUIRE(world_.pool.record_use(pointer, block.stream) == Misuse::none);
    }
    shadow_.give(block.address);
    REQUIRE(world_.pool.try_deallocate(pointer, stream) == Misuse::none);
    return true;
  }
  bool use(StreamId stream) {
    if (live_.empty()) return false;
    shadow_.use(live_.back().address, stream);
    ++works_;
    REQUIRE(world_.pool.record_use(reinterpret_cast<void*>(live_.back().address), stream) ==
            Misuse::none);
    return true;
  }

  World world_;
  Shadow shadow_;
  std::vector<Block> live_;
  Address base_ = 0;
  std::size_t works_ = 0, done_[2] = {0, 0};
};

}  // namespace

TEST_CASE("every short program of two streams on a pool of four handles") {
  using Steps = std::basic_string<unsigned char>;
  PoolStats all;
  std::size_t states = 0;
  for (const LadderRung first : {LadderRung::map, LadderRung::steal, LadderRung::remap}) {
    std::vector<Steps> frontier{{}};
    std::unordered_set<std::string> seen;
    const unsigned depth = by_build(5, 3, 2);
    for (unsigned length = 0; length < depth; ++length) {
      std::vector<Steps> next;
      for (const Steps& steps : frontier) {
        for (unsigned operation = 0; operation < LadderWorld::kOperations; ++operation) {
          LadderWorld world(test::ladder_with(first));
          INFO("first " << to_string(first) << ", " << steps.size() << " steps, then "
                        << operation);
          for (const unsigned char earlier : steps) world.apply(earlier);
          if (!world.apply(operation)) continue;
          world.check();
          if (length + 1 == depth) merge(all, world.world().pool.stats());
          if (!seen.insert(world.look()).second) continue;
          next.push_back(steps);
          next.back().push_back(static_cast<unsigned char>(operation));
        }
      }
      frontier.swap(next);
    }
    states += seen.size();
  }
  CHECK(states > (by_build(2'000u, 100u, 10u)));
  if (kSanitised) return;
  // All rungs but those that need time, carriers or a callback.
  CHECK(all.ladder.map.count > 0);
  CHECK(all.ladder.completed.count > 0);
  CHECK(all.ladder.remap.count > 0);
  CHECK(all.ladder.steal.count > 0);
}
