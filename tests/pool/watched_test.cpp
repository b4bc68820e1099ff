#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/block_watch.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

World::Config with_tools() {
  World::Config config;
  config.tools = true;
  return config;
}

World::Config with_quarantine(std::size_t bytes, bool fill = true) {
  World::Config config = with_tools();
  config.quarantine = bytes;
  config.fill = fill;
  return config;
}

Address at(const void* block) { return reinterpret_cast<Address>(block); }

// Sizes of slab, buddy and span blocks; also ones that fill their class to the last byte.
const std::vector<std::size_t> kWatchedSizes = {1,       256,  1000,     65536,
                                                200'000, kMiB, 3 * kMiB, 5'000'000};

}  // namespace

TEST_CASE("a write behind a block is found at its free, counted, and told") {
  for (const PoolMode mode : {PoolMode::pooled, PoolMode::passthrough}) {
    World::Config config = with_tools();
    config.canary = 64;
    config.mode = mode;
    World world(config);
    unsigned found = 0;
    for (const std::size_t bytes : kWatchedSizes) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{13}, std::size_t{63}}) {
        INFO(bytes << " + " << offset);
        void* block = world.pool.allocate(bytes, 1, {.tag = "weights"});
        CHECK(world.sound());
        world.tools->poke(block, bytes + offset, 0);
        CHECK(world.pool.try_deallocate(block, 1, bytes) == Misuse::buffer_overrun);
        // It is free all the same.
        CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
        CHECK(world.sound());
        ++found;
      }
      // What lies further away, or inside, is nobody's damage.
      void* block = world.pool.allocate(bytes, 1);
      world.tools->poke(block, bytes - 1, 0);
      CHECK(world.pool.try_deallocate(block, 1, bytes) == Misuse::none);
    }
    CHECK(world.pool.stats().errors.buffer_overrun == found);
    CHECK(world.pool.stats().allocations.live == 0);

    void* block = world.pool.allocate(1000, 1, {.tag = "weights"});
    world.tools->poke(block, 1003, 7);
    world.pool.deallocate(block, 1);
    CHECK(world.logged("write behind the end at 0x"));
    CHECK(world.logged("byte 3 behind its 1000 bytes was changed, tag weights"));
  }
}

TEST_CASE("the canary is not among the bytes that were asked for") {
  World::Config config = with_tools();
  config.canary = 256;
  World world(config);
  void* block = world.pool.allocate(1024, 1);
  const PoolStats stats = world.pool.stats();
  CHECK(stats.requested.current == 1024);
  CHECK(stats.allocated.current == 1280);
  CHECK(world.pool.try_deallocate(block, 1, 1280) == Misuse::size_mismatch);
  CHECK(world.pool.try_deallocate(block, 1, 1024) == Misuse::none);
  CHECK(world.pool.stats().requested.current == 0);
  CHECK(world.sound());
}

TEST_CASE("blocks are filled on their streams when they come and when they go") {
  World::Config config = with_tools();
  config.fill = true;
  World world(config);
  for (const std::size_t bytes : kWatchedSizes) {
    void* block = world.pool.allocate(bytes, 2);
    CHECK(world.tools->last_stream == 2);
    CHECK(world.tools->peek(block, 0) == BlockWatch::kFresh);
    CHECK(world.tools->peek(block, bytes - 1) == BlockWatch::kFresh);
    world.tools->poke(block, 0, 1);
    world.pool.deallocate(block, 1);
    CHECK(world.tools->last_stream == 1);
    CHECK(world.tools->peek(block, 0) == BlockWatch::kFreed);
    CHECK(world.tools->peek(block, bytes - 1) == BlockWatch::kFreed);
  }
  // What another stream may be using yet is left alone.
  void* block = world.pool.allocate(1000, 1);
  world.tools->poke(block, 5, 42);
  CHECK(world.pool.record_use(block, 2) == Misuse::none);
  world.pool.deallocate(block, 1);
  CHECK(world.tools->peek(block, 5) == 42);
  CHECK(world.pool.stats().debug.fills == static_cast<Count>(world.tools->fills));
  CHECK(world.sound());
}

TEST_CASE("where nothing may be written, nothing is checked and nobody is accused") {
  World::Config config = with_tools();
  config.fill = true;
  config.canary = 16;
  World world(config);
  world.tools->refuse = true;
  void* unmarked = world.pool.allocate(1000, 1);
  world.tools->refuse = false;
  void* marked = world.pool.allocate(1000, 1);
  CHECK(world.pool.try_deallocate(unmarked, 1) == Misuse::none);
  CHECK(world.pool.stats().debug.checks == 0);
  world.tools->refuse = true;
  CHECK(world.pool.try_deallocate(marked, 1) == Misuse::none);
  CHECK(world.pool.stats().debug.unchecked == 1);
  CHECK(world.sound());
}

TEST_CASE(
    "a block in quarantine is not used again, and freeing or using it is misuse for certain") {
  World world(with_quarantine(10'000));
  void* block = world.pool.allocate(4000, 1);
  world.pool.deallocate(block, 1);
  for (int i = 0; i < 100; ++i) {
    CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
    CHECK(world.pool.record_use(block, 2) == Misuse::double_free);
  }
  CHECK(world.pool.stats().debug.quarantined_blocks == 1);
  CHECK(world.pool.stats().debug.quarantined_bytes == 4000);
  std::vector<void*> others;
  for (int i = 0; i < 20; ++i) others.push_back(world.pool.allocate(4000, 1));
  CHECK(std::count(others.begin(), others.end(), block) == 0);
  CHECK(world.sound());
  // The third of 4000 bytes is one too many.
  for (int i = 0; i < 2; ++i) world.pool.deallocate(others[static_cast<std::size_t>(i)], 1);
  CHECK(world.pool.stats().debug.quarantined_blocks == 2);
  CHECK(world.pool.allocate(4000, 1) == block);
  CHECK(world.sound());
  // What is larger than the quarantine does not go there.
  void* large = world.pool.allocate(kMiB, 1);
  world.pool.deallocate(large, 1);
  CHECK(world.pool.stats().debug.quarantined_bytes == 8000);
}

TEST_CASE("a write after free is found when the block leaves quarantine") {
  World world(with_quarantine(kMiB));
  std::vector<Misuse> seen;
  std::string line;
  const auto watch = [&] {
    world.pool.set_misuse_handler([&](Misuse misuse, const void*, std::string_view text) {
      seen.push_back(misuse);
      line = text;
    });
  };
  watch();
  void* victim = world.pool.allocate(5000, 1, {.tag = "activations"});
  void* innocent = world.pool.allocate(5000, 1);
  world.pool.deallocate(victim, 1);
  world.pool.deallocate(innocent, 1);
  world.tools->poke(victim, 4321, 1);
  CHECK(seen.empty());
  SECTION("pushed out by others") {
    for (int i = 0; i < 300; ++i) world.pool.deallocate(world.pool.allocate(4000, 1), 1);
  }
  SECTION("by trim") { world.pool.trim(); }
  SECTION("by the end of the stream that freed it") {
    world.timeline->run_all();
    CHECK(world.pool.retire_stream(1));
  }
  SECTION("by close") { world.pool.close(); }
  CHECK(seen == std::vector{Misuse::use_after_free});
  CHECK(line.find("write after free") != std::string::npos);
  CHECK(line.find("byte 4321 of its 5000 bytes was changed since, tag activations") !=
        std::string::npos);
  CHECK(world.pool.stats().errors.use_after_free == 1);
  CHECK(world.sound());
}

TEST_CASE("what is in quarantine comes out before memory is said to be out") {
  World::Config config = with_quarantine(64 * kMiB, false);
  config.capacity = 16 * kMiB;
  World world(config);
  for (int i = 0; i < 10; ++i) {
    void* block = world.pool.allocate(12 * kMiB, 1);
    world.pool.deallocate(block, 1);
    CHECK(world.pool.stats().debug.quarantined_blocks == 1);
  }
  CHECK(world.pool.stats().allocations.failed == 0);
  void* live = world.pool.allocate(12 * kMiB, 1);
  CHECK_THROWS_AS(world.pool.allocate(12 * kMiB, 1), OutOfMemory);
  CHECK(world.pool.stats().allocations.failed == 1);
  world.pool.deallocate(live, 1);
  CHECK(world.sound());
}

TEST_CASE("a stream takes only its own blocks out of quarantine when it ends") {
  World world(with_quarantine(kMiB));
  for (const StreamId stream : {1, 2, 1, 2, 2}) {
    world.pool.deallocate(world.pool.allocate(1000, stream), stream);
  }
  CHECK(world.pool.retire_stream(2));
  CHECK(world.pool.stats().debug.quarantined_blocks == 2);
  world.timeline->remove_stream(2);
  world.pool.close();
  CHECK(world.pool.stats().errors.wrong_device == 0);
  CHECK(world.log->empty());
}

TEST_CASE("a guarded block ends where no memory is") {
  World::Config config;
  config.guard_sample = 1;
  World world(config);
  for (const std::size_t bytes : kWatchedSizes) {
    INFO(bytes);
    auto* block = static_cast<char*>(world.pool.allocate(bytes, 1));
    CHECK(at(block) % kMinAlignment == 0);
    CHECK(world.source->accessible(at(block), bytes));
    CHECK_FALSE(world.source->accessible(at(block), bytes + kMinAlignment));
    CHECK(world.pool.stats().debug.guarded == 1);
    CHECK(world.pool.stats().requested.current == bytes);
    CHECK(world.pool.try_deallocate(block, 1, bytes + 1) == Misuse::size_mismatch);
    if (bytes > 1) {
      CHECK(world.pool.try_deallocate(block + 1, 1) == Misuse::interior_pointer);
    }
    CHECK(world.sound());
    CHECK(world.pool.try_deallocate(block, 1, bytes) == Misuse::none);
    CHECK(world.pool.try_deallocate(block, 1, bytes) == Misuse::double_free);
    CHECK(world.sound());
    world.timeline->run_all();
    world.pool.trim();
    CHECK(world.pool.stats().held.current == 0);
    CHECK(world.source->reservations() == 1);
    CHECK(world.sound());
  }
  auto* aligned = world.pool.allocate(5000, 1, {.alignment = 65536});
  CHECK(at(aligned) % 65536 == 0);
  CHECK(world.pool.stats().debug.guarded == 1);
}

TEST_CASE("guarded blocks are a sample, and never the reason that memory is out") {
  World::Config config;
  config.guard_sample = 10;
  config.capacity = 1024 * kMiB;
  World world(config);
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(world.pool.allocate(1000, 1));
  CHECK(world.pool.stats().debug.guarded == 64);
  CHECK(world.pool.stats().allocations.live == 1000);
  CHECK(world.sound());
  for (void* block : blocks) world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().debug.guarded == 0);
  CHECK(world.sound());

  World::Config small;
  small.guard_sample = 1;
  small.capacity = 16 * kMiB;
  World full(small);
  for (int i = 0; i < 100; ++i) (void)full.pool.allocate(10'000, 1);
  CHECK(full.pool.stats().debug.guarded == 1);
  CHECK(full.sound());
  full.source->fail(SourceCall::create, 1, true);
  (void)full.pool.allocate(1000, 1);
  CHECK(full.sound());
}

TEST_CASE("the canary of a guarded block fills what its alignment left") {
  World::Config config = with_tools();
  config.guard_sample = 1;
  config.canary = 16;
  World world(config);
  void* block = world.pool.allocate(1000, 1);  // 24 bytes to the next multiple of 256
  CHECK(world.pool.stats().debug.guarded == 1);
  world.tools->poke(block, 1023, 0);
  CHECK(world.pool.try_deallocate(block, 1) == Misuse::buffer_overrun);
  void* exact = world.pool.allocate(1024, 1);
  CHECK(world.pool.try_deallocate(exact, 1) == Misuse::none);
  CHECK(world.sound());
}

TEST_CASE("what cannot work without tools or a range of addresses is refused by its key") {
  const auto refused = [](const World::Config& config) {
    try {
      const World world(config);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  World::Config config;
  config.fill = true;
  CHECK(refused(config).find("/pool/debug/fill: ") == 0);
  config = {};
  config.canary = 16;
  CHECK(refused(config).find("/pool/debug/canary: ") == 0);
  config = {};
  config.guard_sample = 1;
  config.virtual_memory = false;
  CHECK(refused(config).find("/pool/debug/guard_sample: ") == 0);
  config = {};
  config.stacks = StackMode::sampled;
  config.sample_bytes = 0;
  CHECK(refused(config).find("/pool/leaks/sample_bytes: ") == 0);
  config = {};
  config.quarantine = kMiB;
  CHECK(refused(config) == "accepted");
}

TEST_CASE("with everything on, a pool is still a pool") {
  World::Config config = with_quarantine(2 * kMiB);
  config.canary = 100;
  config.guard_sample = 7;
  config.stacks = StackMode::all;
  World world(config);
  std::mt19937 random(7);
  struct Block {
    void* address;
    std::size_t bytes;
  };
  std::vector<Block> live;
  for (int i = 0; i < 3000; ++i) {
    const StreamId stream = 1 + random() % 4;
    if (live.size() < 50 || random() % 2 == 0) {
      const std::size_t bytes = 1 + random() % (std::size_t{1} << (random() % 22));
      live.push_back({world.pool.allocate(bytes, stream), bytes});
    } else {
      std::swap(live[random() % live.size()], live.back());
      const Block block = live.back();
      live.pop_back();
      if (random() % 4 == 0) (void)world.pool.record_use(block.address, 1 + random() % 4);
      REQUIRE(world.pool.try_deallocate(block.address, stream, block.bytes) == Misuse::none);
    }
    if (random() % 8 == 0) world.timeline->run(1 + random() % 4, 10);
    if (i < 300 || i % 97 == 0) REQUIRE(world.sound());
  }
  const PoolStats stats = world.pool.stats();
  CHECK(stats.errors.buffer_overrun == 0);
  CHECK(stats.errors.use_after_free == 0);
  CHECK(stats.debug.records == live.size() + stats.debug.quarantined_blocks);
  CHECK(stats.debug.quarantined_bytes <= 2 * kMiB);
  CHECK(world.pool.leak_report().blocks == live.size());
  world.pool.close();
  CHECK(world.source->used_bytes() == 0);
  CHECK(world.source->reservations() == 0);
  CHECK(world.source->violations().empty());
}

TEST_CASE("with everything on, a source that fails costs no memory") {
  for (const SourceCall call : {SourceCall::reserve, SourceCall::create, SourceCall::map,
                                SourceCall::set_access, SourceCall::unmap, SourceCall::release}) {
    for (std::uint64_t nth = 1; nth <= 12; ++nth) {
      INFO(static_cast<int>(call) << " " << nth);
      World::Config config = with_quarantine(64 * kKiB);
      config.canary = 16;
      config.guard_sample = 2;
      World world(config);
      world.source->fail(call, nth, false);
      std::vector<void*> live;
      for (int i = 0; i < 12; ++i) {
        try {
          live.push_back(world.pool.allocate(30'000, 1));
        } catch (const OutOfMemory&) {
        }
        if (i % 3 == 2 && !live.empty()) {
          world.pool.deallocate(live.back(), 1);
          live.pop_back();
        }
        world.timeline->run_all();
        REQUIRE(world.pool.validate().empty());
        REQUIRE(check_identities(world.pool.stats()).empty());
      }
      world.source->fail(call, 0, false);
      for (void* block : live) world.pool.deallocate(block, 1);
      world.pool.close();
      CHECK(world.pool.stats().errors.double_free == 0);
      CHECK(world.source->violations().empty());
      CHECK(world.source->used_bytes() == 0);
      CHECK(world.source->reservations() == 0);
    }
  }
}

TEST_CASE("a trace of a watched pool has what its users asked, when they asked") {
  World::Config config = with_quarantine(kMiB);
  config.canary = 16;
  config.guard_sample = 3;
  config.trace_ring_bytes = 64 * kKiB;
  World world(config);
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(world.pool.allocate(1000, 1));
  world.tools->poke(blocks[1], 1000, 0);
  CHECK(world.pool.try_deallocate(blocks[0], 1) == Misuse::none);
  CHECK(world.pool.try_deallocate(blocks[0], 1) == Misuse::double_free);
  CHECK(world.pool.try_deallocate(blocks[1], 1) == Misuse::buffer_overrun);
  CHECK(world.pool.record_use(blocks[1], 2) == Misuse::double_free);
  CHECK(world.pool.try_deallocate(blocks[2], 1) == Misuse::none);
  world.pool.trim();
  std::size_t allocations = 0, frees = 0, uses = 0;
  for (const TraceEvent& event : world.pool.trace().events) {
    allocations += event.action == TraceAction::alloc && event.size == 1000 ? 1 : 0;
    frees += event.action == TraceAction::free ? 1 : 0;
    uses += event.action == TraceAction::use ? 1 : 0;
  }
  CHECK(allocations == 6);
  CHECK(frees == 3);
  CHECK(uses == 0);
}

TEST_CASE("with everything off, nothing is watched") {
  World world;
  void* block = world.pool.allocate(1000, 1);
  const PoolStats stats = world.pool.stats();
  DebugStats::each_field(
      [](const char* name, Merge, Count count) {
        INFO(name);
        CHECK(count == 0);
      },
      stats.debug);
  CHECK(world.pool.leak_report().stacks == StackMode::off);
  world.pool.deallocate(block, 1);
}
