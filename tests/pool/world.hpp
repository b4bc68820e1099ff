// A pool on the simulated source and timeline, as most tests of the pool need it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/pool/fake_tools.hpp"
#include "tests/pool/hooked_timeline.hpp"

namespace forebay::pool::test {

/// The default ladder, but for the first rung after `completed`.
inline Ladder ladder_with(LadderRung first) {
  Ladder ladder{LadderRung::completed, first};
  for (const LadderRung rung : default_ladder()) {
    if (rung != LadderRung::completed && rung != first) ladder.push_back(rung);
  }
  return ladder;
}

struct World {
  struct Config {
    std::size_t capacity = std::size_t{256} << 20;
    std::size_t handle_size = 0;
    std::size_t address_range = 0;
    std::size_t slab_max_block = std::size_t{64} << 10;
    std::size_t buddy_max_block = std::size_t{1} << 20;
    std::uint32_t parked_spans = kMostParkedSpans;
    std::size_t soft_limit = 0;
    std::size_t headroom = 0;
    Ladder ladder = default_ladder();
    double growth_step = 0;  // so that tests can count what is mapped
    double idle_share = 0.15;
    std::uint32_t point_every_frees = 64;
    std::uint32_t wait_limit_ms = 10'000;
    bool immediate = false;
    bool virtual_memory = true;
    std::size_t device = std::size_t{1} << 30;
    std::size_t trace_ring_bytes = 0;
    PoolMode mode = PoolMode::pooled;
    PoolBacking backing = PoolBacking::vmm;
    MisusePolicy on_misuse = MisusePolicy::log;
    unsigned streams = 4;  // 1, 2, 3 …
    // Debug modes and leak tracing; with `tools` the memory has content.
    bool tools = false;
    bool fill = false;
    std::size_t canary = 0;
    std::uint32_t guard_sample = 0;
    std::size_t quarantine = 0;
    StackMode stacks = StackMode::off;
    std::size_t sample_bytes = 4096;
  };

  World() : World(Config{}) {}
  explicit World(const Config& config)
      : source(std::make_shared<SimulatedSource>(SimulatedSource::Options{
            .total = config.device, .virtual_memory = config.virtual_memory})),
        timeline(std::make_shared<SimulatedTimeline>(config.immediate)),
        hooks(std::make_shared<HookedTimeline>(timeline)) {
    if (config.tools) tools = std::make_shared<FakeTools>(source);
    for (unsigned stream = 1; stream <= config.streams; ++stream) timeline->add_stream(stream);
    PoolConfig pool_config;
    pool_config.capacity = config.capacity;
    pool_config.handle_size = config.handle_size;
    pool_config.address_range = config.address_range;
    pool_config.slab_max_block = config.slab_max_block;
    pool_config.buddy_max_block = config.buddy_max_block;
    pool_config.parked_spans = config.parked_spans;
    pool_config.soft_limit = config.soft_limit;
    pool_config.headroom = config.headroom;
    pool_config.ladder = config.ladder;
    pool_config.growth_step = config.growth_step;
    pool_config.idle_share = config.idle_share;
    pool_config.point_every_frees = config.point_every_frees;
    pool_config.wait_limit_ms = config.wait_limit_ms;
    pool_config.trace_ring_bytes = config.trace_ring_bytes;
    pool_config.mode = config.mode;
    pool_config.backing = config.backing;
    pool_config.on_misuse = config.on_misuse;
    pool_config.debug_fill = config.fill;
    pool_config.debug_canary = config.canary;
    pool_config.debug_guard_sample = config.guard_sample;
    pool_config.debug_quarantine = config.quarantine;
    pool_config.leak_stacks = config.stacks;
    pool_config.leak_sample_bytes = config.sample_bytes;
    pool = Pool(
        source, hooks, pool_config,
        [lines = log](std::string_view line) { lines->emplace_back(line); }, tools);
  }

  /// The pool is sound, its statistics add up, and nobody did what a driver refuses.
  [[nodiscard]] bool sound() const {
    trouble = pool.validate();
    const PoolStats of = pool.stats();
    if (trouble.empty()) trouble = check_identities(of);
    if (of.slab.blocks + of.buddy.blocks + of.span.blocks != of.allocations.live) {
      trouble = "the engines have other blocks than are live";
    }
    if (trouble.empty() && !source->violations().empty()) trouble = source->violations().front();
    if (trouble.empty() && !timeline->violations().empty()) {
      trouble = timeline->violations().front();
    }
    if (trouble.empty() && tools != nullptr && tools->unreachable > 0) {
      trouble = "memory was touched that is not there";
    }
    if (trouble.empty() && of.held.current != source->used_bytes()) {
      trouble = "the source handed out other bytes than the pool holds";
    }
    if (!trouble.empty()) std::fprintf(stderr, "not sound: %s\n", trouble.c_str());
    return trouble.empty();
  }
  /// The stream captures, with an arena of its own, until `end_capture`.
  ArenaId capture(StreamId stream) {
    const ArenaId arena = pool.begin_capture(stream);
    timeline->set_capturing(stream, true);
    return arena;
  }
  void end_capture(StreamId stream) {
    timeline->set_capturing(stream, false);
    pool.end_capture(stream);
  }
  [[nodiscard]] bool logged(std::string_view text) const {
    for (const std::string& line : *log) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

  std::shared_ptr<SimulatedSource> source;
  std::shared_ptr<SimulatedTimeline> timeline;
  std::shared_ptr<HookedTimeline> hooks;  // what the pool sees of the timeline
  std::shared_ptr<FakeTools> tools;       // null unless asked for
  std::shared_ptr<std::vector<std::string>> log = std::make_shared<std::vector<std::string>>();
  Pool pool;
  mutable std::string trouble;
};

/// Of a pool with live, pending and free blocks of every kind on two streams.
inline PoolStats busy_stats(std::size_t map_ranges = 0) {
  World world;
  std::vector<void*> blocks;
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 3 * kMiB, std::size_t{2000}}) {
    blocks.push_back(world.pool.allocate(bytes, 1));
    blocks.push_back(world.pool.allocate(bytes, 2));
  }
  for (std::size_t i = 0; i < blocks.size(); i += 3) world.pool.deallocate(blocks[i], 1 + i % 2);
  return world.pool.detailed_stats(map_ranges);
}

}  // namespace forebay::pool::test
