// What the sweeps over failures play: scenarios that climb every rung of the ladder.
#pragma once

#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/host_memory.hpp"
#include "tests/pool/rich.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

namespace forebay::pool::test {

/// A world with its shadow, whose steps may fail and are each followed by a look at everything.
class Stage {
  // With no more host memory than there is.
  template <typename Action>
  auto scarce(Action&& action) {
    return memory_ == nullptr ? action() : memory_->of_action(action);
  }
  // And once more, with all of it, if that was not enough: then nothing has changed meanwhile.
  template <typename Action>
  auto repeated(Action&& action) {
    try {
      return scarce(action);
    } catch (const std::bad_alloc&) {
      REQUIRE(memory_ != nullptr);
      REQUIRE(memory_->failed());
      check();
      return action();
    }
  }

 public:
  /// With `memory`, the pool has no more host memory than that.
  explicit Stage(const World::Config& config, ScarceMemory* memory = nullptr)
      : world(config), memory_(memory), shadow_(*world.timeline) {
    if (memory != nullptr) enrich(world);
  }

  /// Null if there was no memory.
  void* allocate(std::size_t bytes, StreamId stream) {
    void* block = nullptr;
    try {
      block = repeated([&] { return world.pool.allocate(bytes, stream); });
      const auto address = reinterpret_cast<Address>(block);
      REQUIRE(world.source->accessible(address, bytes));
      REQUIRE(shadow_.take(address, bytes, stream) == "");
      live_.emplace_back(block, stream);
    } catch (const OutOfMemory& error) {
      REQUIRE_FALSE(error.report().empty());
    }
    check();
    return block;
  }
  void free(void* block, StreamId stream) {
    if (block == nullptr) return;
    world.timeline->work(stream);
    shadow_.give(reinterpret_cast<Address>(block));
    REQUIRE(scarce([&] { return world.pool.try_deallocate(block, stream); }) == Misuse::none);
    std::erase_if(live_, [block](const auto& live) { return live.first == block; });
    check();
  }
  void use(void* block, StreamId stream) {
    if (block == nullptr) return;
    shadow_.use(reinterpret_cast<Address>(block), stream);
    Misuse misuse = scarce([&] { return world.pool.record_use(block, stream); });
    if (misuse == Misuse::no_host_memory) misuse = world.pool.record_use(block, stream);
    REQUIRE(misuse == Misuse::none);
  }
  void trim(std::size_t keep) {
    repeated([&] { return world.pool.trim(keep); });
    check();
  }
  ArenaId begin_capture(StreamId stream) {
    const ArenaId arena = repeated([&] { return world.pool.begin_capture(stream); });
    world.timeline->set_capturing(stream, true);
    return arena;
  }
  void drop_arena(ArenaId arena) {
    scarce([&] { world.pool.drop_arena(arena); });
    check();
  }
  void free_all() {
    while (!live_.empty()) free(live_.back().first, live_.back().second);
  }
  /// The pool is sound, and the ledger of handles knows what the pool does.
  void check() const {
    REQUIRE(world.sound());
    const PoolStats stats = world.pool.stats();
    REQUIRE(stats.held.current == world.source->used_bytes());
    REQUIRE((stats.idle_handles.current > 0) >=
            (world.source->handles() > world.source->mappings()));
    // Those that were given back without memory, and those in quarantine, are live still.
    REQUIRE(stats.allocations.live >= live_.size());
    if (memory_ == nullptr) REQUIRE(stats.allocations.live == live_.size());
  }

  World world;

 private:
  ScarceMemory* const memory_;
  Shadow shadow_;
  std::vector<std::pair<void*, StreamId>> live_;
};

struct Scenario {
  const char* name;
  World::Config config;
  std::function<void(Stage&)> play;
};

inline void grow(Stage& stage) {
  for (const std::size_t bytes :
       {kMiB, 5 * kMiB, 3 * kMiB, std::size_t{5000}, 200 * kKiB, 9 * kMiB}) {
    stage.allocate(bytes, 1);
  }
}

inline void remap_at_the_limit(Stage& stage) {
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(stage.allocate(4 * kMiB, 1));
  for (std::size_t i = 0; i < blocks.size(); i += 2) stage.free(blocks[i], 1);
  stage.world.timeline->run_all();
  stage.allocate(10 * kMiB, 1);
  stage.allocate(2 * kMiB, 1);
}

inline void steal_from_several(Stage& stage) {
  void* first = stage.allocate(6 * kMiB, 1);
  void* second = stage.allocate(6 * kMiB, 2);
  void* shared = stage.allocate(8 * kMiB, 3);
  stage.use(shared, 1);
  stage.free(first, 1);
  stage.free(second, 2);
  void* both = stage.allocate(12 * kMiB, 3);
  stage.free(shared, 3);
  stage.allocate(7 * kMiB, 2);
  stage.free(both, 3);
  stage.allocate(10 * kMiB, 1);
}

inline void capture(Stage& stage) {
  void* before = stage.allocate(4 * kMiB, 1);
  const ArenaId arena = stage.begin_capture(1);
  void* inside = stage.allocate(6 * kMiB, 1);
  void* small = stage.allocate(3000, 1);
  void* shared = stage.allocate(kMiB, 1);
  void* lent = stage.allocate(kMiB, 1);
  stage.free(before, 1);
  stage.free(inside, 1);
  stage.allocate(6 * kMiB, 1);
  void* other = stage.allocate(8 * kMiB, 2);
  stage.world.end_capture(1);
  stage.use(shared, 2);
  stage.free(shared, 1);
  stage.free(lent, 2);
  stage.free(other, 2);
  stage.allocate(12 * kMiB, 2);
  stage.free(small, 1);
  stage.drop_arena(arena);
  stage.allocate(4 * kMiB, 2);
}

inline void trim_and_close(Stage& stage) {
  std::vector<void*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(stage.allocate(4 * kMiB + 4096, 1 + i % 2));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i != 2) stage.free(blocks[i], 1 + i % 2);
  }
  stage.trim(14 * kMiB);
  stage.allocate(9 * kMiB, 2);
  stage.trim(0);
}

inline void use_regions(Stage& stage) {
  remap_at_the_limit(stage);
  steal_from_several(stage);
  stage.trim(4 * kMiB);
  stage.allocate(6 * kMiB, 2);
}

inline std::vector<Scenario> scenarios() {
  const World::Config config{.capacity = 24 * kMiB,
                             .handle_size = 2 * kMiB,
                             .point_every_frees = 2,
                             .wait_limit_ms = 20,
                             .streams = 3};
  World::Config large = config, small = config, regions = config;
  large.capacity = 64 * kMiB;
  large.growth_step = 0.25;
  small.capacity = 20 * kMiB;
  regions.virtual_memory = false;
  return {{"growth", large, grow},
          {"remap at the limit", config, remap_at_the_limit},
          {"steal from several streams", small, steal_from_several},
          {"capture", small, capture},
          {"trim and close", config, trim_and_close},
          {"regions", regions, use_regions}};
}

}  // namespace forebay::pool::test
