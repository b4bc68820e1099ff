// Random programs on a pool, whose streams' points pass in random order.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/holds.hpp"

namespace forebay::pool::test {

struct Plan {
  World::Config config;
  std::size_t operations = test::operations(250'000, 15'000);
  std::size_t validated = 500;  // the first so many are each validated, then every 997th
  std::size_t live = 1'000;
  std::size_t largest = 3 * kMiB;
  bool retire = false;
  bool capture = false;
  bool trim = false;
};

/// Allocates, uses, frees and lets time pass, against a shadow that knows who used each byte last.
/// Memory that ran out has to stay out: the same request once more, with no time passed, fails too.
class Program {
 public:
  Program(const Plan& plan, unsigned seed)
      : plan_(plan), world_(plan.config), shadow_(*world_.timeline), random_(seed) {
    for (unsigned stream = 1; stream <= plan.config.streams; ++stream) streams_.push_back(stream);
    next_stream_ = plan.config.streams + 1;
  }

  void run() {
    for (std::size_t i = 0; i < plan_.operations; ++i) {
      INFO("operation " << i);
      step();
      if (i < plan_.validated || i % 997 == 0) REQUIRE(world_.sound());
    }
    finish();
  }
  [[nodiscard]] const PoolStats& outcome() const { return outcome_; }
  [[nodiscard]] std::size_t out_of_memory() const { return out_of_memory_; }

 private:
  struct Block {
    Address address;
    std::size_t bytes;
    StreamId stream;
  };

  std::size_t pick(std::size_t below) { return random_() % below; }
  StreamId pick_stream() { return streams_[pick(streams_.size())]; }
  std::size_t pick_size() {
    switch (pick(16)) {
      case 0:
        return 1 + pick(plan_.largest);
      case 1:
        return 1 + pick(kMiB);
      case 2:
      case 3:
        return 1 + pick(100 * kKiB);
      default:
        return 1 + pick(8 * kKiB);
    }
  }

  void step() {
    const std::size_t kind = pick(100);
    if (kind < 20) {
      world_.timeline->run(pick_stream(), 1 + pick(50));
    } else if (kind < 30 && !blocks_.empty()) {
      Block& block = blocks_[pick(blocks_.size())];
      const StreamId stream = pick_stream();
      shadow_.use(block.address, stream);
      HOLDS(world_.pool.record_use(reinterpret_cast<void*>(block.address), stream) == Misuse::none);
    } else if (kind == 30 && plan_.retire && streams_.size() > 2) {
      retire(pick(streams_.size()));
    } else if (kind == 31 && plan_.capture) {
      const StreamId stream = pick_stream();
      if (world_.timeline->capturing(stream)) {
        world_.end_capture(stream);
      } else {
        arenas_.push_back(world_.capture(stream));
      }
    } else if (kind == 33 && plan_.capture && !arenas_.empty()) {
      drop_arena();
    } else if (kind == 32 && plan_.trim && pick(10) == 0) {
      trim();
    } else if (pick(2 * plan_.live) < blocks_.size()) {
      free_one();
    } else {
      allocate();
    }
  }

  void allocate() {
    const std::size_t bytes = pick_size();
    const StreamId stream = pick_stream();
    AllocateOptions options;
    if (pick(10) == 0) options.alignment = std::size_t{1} << pick(18);
    const std::size_t used = world_.source->used_bytes();
    void* pointer = nullptr;
    try {
      pointer = world_.pool.allocate(bytes, stream, options);
    } catch (const OutOfMemory&) {
      ++out_of_memory_;
      REQUIRE_THROWS_AS(world_.pool.allocate(bytes, stream, options), OutOfMemory);
      for (int i = 0; i < 20 && !blocks_.empty(); ++i) free_one();
      return;
    }
    const auto address = reinterpret_cast<Address>(pointer);
    HOLDS(address % options.alignment == 0);
    HOLDS(world_.source->accessible(address, bytes));
    if (world_.source->used_bytes() > used) {
      HOLDS(world_.source->free_bytes() >= plan_.config.headroom);
    }
    const std::string wrong = shadow_.take(address, bytes, stream);
    REQUIRE(wrong == "");
    blocks_.push_back({address, bytes, stream});
  }

  void free_one() {
    const std::size_t at = pick(blocks_.size());
    const Block block = blocks_[at];
    blocks_[at] = blocks_.back();
    blocks_.pop_back();
    StreamId stream = block.stream;
    const bool gone = std::find(streams_.begin(), streams_.end(), stream) == streams_.end();
    if (gone || pick(4) == 0) {
      // Freed elsewhere: that its own stream used it has to be said; one that is gone has to be
      // waited for.
      stream = pick_stream();
      if (!gone) {
        HOLDS(world_.pool.record_use(reinterpret_cast<void*>(block.address), block.stream) ==
              Misuse::none);
      } else {
        world_.timeline->finish(block.stream);
      }
    }
    shadow_.give(block.address);
    HOLDS(world_.pool.try_deallocate(reinterpret_cast<void*>(block.address), stream,
                                     pick(2) == 0 ? 0 : block.bytes) == Misuse::none);
  }

  // A stream goes, with work in flight, and a new one comes.
  void retire(std::size_t at) {
    world_.end_capture(streams_[at]);
    HOLDS(world_.pool.retire_stream(streams_[at]));
    world_.timeline->remove_stream(streams_[at]);
    streams_[at] = next_stream_++;
    world_.timeline->add_stream(streams_[at]);
  }

  // A graph goes, maybe while its stream captures.
  void drop_arena() {
    const std::size_t at = pick(arenas_.size());
    world_.pool.drop_arena(arenas_[at]);
    arenas_.erase(arenas_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void trim() {
    const std::size_t keep = pick(plan_.config.capacity);
    const std::size_t held = world_.source->used_bytes();
    const std::size_t given = pick(2) == 0 ? world_.pool.trim(keep) : world_.pool.decay();
    HOLDS(world_.source->used_bytes() == held - given);
  }

  void finish() {
    while (!blocks_.empty()) free_one();
    // What arenas keep they give back when they are dropped, or when their streams go.
    while (arenas_.size() > 1) drop_arena();
    for (std::size_t at = 0; plan_.capture && at < streams_.size(); ++at) retire(at);
    world_.timeline->run_all();
    world_.pool.trim(0);
    REQUIRE(world_.sound());
    const PoolStats stats = world_.pool.stats();
    CHECK(stats.held.current == 0);
    CHECK(stats.pending.current == 0);
    const bool range = plan_.config.virtual_memory && plan_.config.mode == PoolMode::pooled;
    CHECK(stats.span.extents == (range ? 1 : 0));
    CHECK(stats.requested.total > 0);
    outcome_ = stats;
  }

  const Plan plan_;
  World world_;
  Shadow shadow_;
  std::mt19937 random_;
  std::vector<StreamId> streams_;
  StreamId next_stream_ = 0;
  std::vector<Block> blocks_;
  std::vector<ArenaId> arenas_;  // some gone with their streams
  std::size_t out_of_memory_ = 0;
  PoolStats outcome_;
};

}  // namespace forebay::pool::test
