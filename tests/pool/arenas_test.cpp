// Capture arenas: memory that stays with a graph, and ends with it.
#include <thread>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("an arena's addresses stay with it, whatever else needs memory") {
  World world(World::Config{.capacity = 16 * kMiB, .handle_size = 2 * kMiB});
  (void)world.capture(1);
  std::vector<void*> blocks;
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 5 * kMiB}) {
    void* block = world.pool.allocate(bytes, 1);
    world.pool.deallocate(block, 1, bytes);
    // Reused at once within the capture.
    CHECK(world.pool.allocate(bytes, 1) == block);
    world.pool.deallocate(block, 1, bytes);
    blocks.push_back(block);
    CHECK(world.sound());
  }
  world.end_capture(1);
  world.timeline->run_all();
  const auto in_arena = [&](void* pointer) {
    const auto address = reinterpret_cast<Address>(pointer);
    const auto large = reinterpret_cast<Address>(blocks[2]);
    return address >= large && address < large + 5 * kMiB;
  };
  // Neither the same stream's ordinary allocations, nor others', nor trim get at it.
  for (const StreamId stream : {1, 2}) {
    try {
      while (true) {
        void* block = world.pool.allocate(kMiB, stream);
        CHECK_FALSE(in_arena(block));
      }
    } catch (const OutOfMemory&) {
    }
  }
  world.pool.trim();
  CHECK(world.source->accessible(reinterpret_cast<Address>(blocks[2]), 5 * kMiB));
  CHECK(world.sound());
}

TEST_CASE("a capturing stream is neither recorded on, nor asked about, nor made to wait") {
  World world(World::Config{.capacity = 16 * kMiB, .point_every_frees = 1});
  std::vector<void*> before;
  for (int i = 0; i < 4; ++i) before.push_back(world.pool.allocate(2 * kMiB, 1));
  void* other = world.pool.allocate(4 * kMiB, 2);
  (void)world.capture(1);
  world.timeline->work(2);
  world.pool.deallocate(other, 2);
  // Blocks from before the capture are held until it ends.
  for (void* block : before) world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().pending.current >= 8 * kMiB);
  void* fresh = world.pool.allocate(2 * kMiB, 1);
  for (void* block : before) CHECK(fresh != block);
  // Everything is pending on one of the two, and stream 1 may not be touched.
  CHECK_THROWS_AS(world.pool.allocate(12 * kMiB, 3), OutOfMemory);
  CHECK(world.timeline->violations().empty());
  world.end_capture(1);
  CHECK(world.pool.allocate(8 * kMiB, 3) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("retiring the stream ends its arenas") {
  for (const PoolMode mode : {PoolMode::pooled, PoolMode::passthrough}) {
    World world(World::Config{.capacity = 8 * kMiB, .mode = mode});
    (void)world.capture(1);
    void* small = world.pool.allocate(1000, 1);
    void* large = world.pool.allocate(6 * kMiB, 1);
    world.pool.deallocate(large, 1);
    world.pool.deallocate(small, 1);
    world.end_capture(1);
    world.timeline->work(1);
    CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
    CHECK(world.sound());
    world.pool.retire_stream(1);
    world.timeline->remove_stream(1);
    CHECK(world.pool.allocate(6 * kMiB, 2) != nullptr);
    CHECK(world.timeline->ordered(2, 1, 1));
    CHECK(world.sound());
  }
}

TEST_CASE("an arena's block that another stream frees waits for that stream") {
  for (const std::size_t bytes : {std::size_t{1000}, 3 * kMiB}) {
    World world;
    (void)world.capture(1);
    void* block = world.pool.allocate(bytes, 1);
    world.timeline->work(2);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::double_free);
    CHECK(world.pool.allocate(bytes, 1) != block);
    CHECK(world.sound());
  }
}

TEST_CASE("dropping an arena gives its memory to everybody, after the work that may use it") {
  for (const PoolMode mode : {PoolMode::pooled, PoolMode::passthrough}) {
    World world(World::Config{.capacity = 8 * kMiB, .mode = mode});
    const ArenaId arena = world.capture(1);
    void* small = world.pool.allocate(1000, 1);
    void* large = world.pool.allocate(6 * kMiB, 1);
    world.pool.deallocate(large, 1);
    world.pool.deallocate(small, 1);
    world.end_capture(1);
    world.timeline->work(1);  // a replay
    CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
    world.pool.drop_arena(arena);
    CHECK(world.sound());
    CHECK(world.pool.allocate(6 * kMiB, 2) != nullptr);
    CHECK(world.timeline->ordered(2, 1, 1));
    CHECK(world.sound());
  }
}

TEST_CASE("an arena's block that another stream used or freed waits for the last replay as well") {
  for (const StreamId freed_on : {StreamId{1}, StreamId{2}}) {
    for (const bool replayed : {true, false}) {
      World world(World::Config{.capacity = 8 * kMiB});
      const ArenaId arena = world.capture(1);
      void* large = world.pool.allocate(6 * kMiB, 1);
      world.timeline->work(2);
      if (freed_on == 1) CHECK(world.pool.record_use(large, 2) == Misuse::none);
      CHECK(world.pool.try_deallocate(large, freed_on) == Misuse::none);
      for (int i = 0; i < 10'000 && world.timeline->live_points() == 0; ++i) {
        world.pool.deallocate(world.pool.allocate(kMiB + kMiB / 2, 2), 2);
      }
      REQUIRE(world.timeline->live_points() > 0);
      world.end_capture(1);
      const std::uint64_t replay = replayed ? world.timeline->work(1) : 0;
      world.pool.drop_arena(arena);
      // Stream 2 is done with it, stream 1 may not be.
      world.timeline->run(2);
      CHECK(world.pool.allocate(6 * kMiB, 3) == large);
      if (replayed) CHECK(world.timeline->ordered(3, 1, replay));
      CHECK(world.sound());
    }
  }
}

TEST_CASE("an arena keeps what others freed until it ends") {
  World world(World::Config{.capacity = 8 * kMiB});
  const ArenaId arena = world.capture(1);
  void* large = world.pool.allocate(6 * kMiB, 1);
  CHECK(world.pool.try_deallocate(large, 2) == Misuse::none);
  world.end_capture(1);
  world.timeline->run_all();
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
  world.pool.drop_arena(arena);
  CHECK(world.pool.allocate(6 * kMiB, 2) == large);
  CHECK(world.sound());
}

TEST_CASE("a stream that is used again after a block of its arena outlived it is a stream") {
  World world(World::Config{.immediate = true});
  (void)world.capture(1);
  void* block = world.pool.allocate(3 * kMiB, 1);
  world.end_capture(1);
  REQUIRE(world.pool.retire_stream(1));
  world.pool.deallocate(block, 1);
  world.pool.deallocate(world.pool.allocate(3 * kMiB, 1), 1);
  CHECK(world.sound());
  CHECK(world.pool.retire_stream(1));
  world.pool.trim();
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.sound());
}

TEST_CASE("a thread that knows a stream from before never gets memory of its arena") {
  World world(World::Config{.immediate = true});
  // This thread takes stream 2 for the second record.
  for (const StreamId stream : {1, 2}) {
    world.pool.deallocate(world.pool.allocate(1000, stream), stream);
  }
  std::thread([&] {
    for (const StreamId stream : {1, 2}) REQUIRE(world.pool.retire_stream(stream));
    world.pool.deallocate(world.pool.allocate(1000, 2), 2);
    (void)world.capture(2);
    world.end_capture(2);
  }).join();
  world.pool.deallocate(world.pool.allocate(1000, 2), 2);
  world.pool.trim();
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.sound());
}

TEST_CASE("an arena that ends during an allocation keeps nothing of it") {
  World world(World::Config{.capacity = 8 * kMiB, .immediate = true});
  void* other = world.pool.allocate(8 * kMiB, 2);
  const ArenaId arena = world.capture(1);
  bool asked = false;
  world.pool.add_pressure_callback([&](std::size_t) -> std::size_t {
    if (asked) return 0;
    asked = true;
    world.pool.deallocate(other, 2);
    world.timeline->run_all();
    world.end_capture(1);
    world.pool.drop_arena(arena);
    return 1;
  });
  void* block = world.pool.allocate(6 * kMiB, 1);
  CHECK(asked);
  CHECK(world.sound());
  world.pool.deallocate(block, 1);
  world.timeline->run_all();
  world.pool.trim();
  CHECK(world.pool.stats().pending.current == 0);
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.sound());
}

TEST_CASE("the stream itself reuses a dropped arena at once") {
  World world(World::Config{.capacity = 8 * kMiB});
  const ArenaId arena = world.capture(1);
  void* block = world.pool.allocate(6 * kMiB, 1);
  world.pool.deallocate(block, 1);
  world.end_capture(1);
  world.timeline->work(1);
  world.pool.drop_arena(arena);
  CHECK(world.pool.allocate(6 * kMiB, 1) == block);
  CHECK(world.pool.stats().host_waits == 0);
  CHECK(world.sound());
}

TEST_CASE("an arena dropped while its stream captures again is free after that capture") {
  World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0});
  const ArenaId first = world.capture(1);
  world.pool.deallocate(world.pool.allocate(6 * kMiB, 1), 1);
  world.end_capture(1);
  const ArenaId second = world.capture(1);
  CHECK(second != first);
  world.pool.drop_arena(first);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 2), OutOfMemory);
  CHECK_THROWS_AS(world.pool.allocate(6 * kMiB, 1), OutOfMemory);
  CHECK(world.timeline->violations().empty());
  world.end_capture(1);
  CHECK(world.pool.allocate(6 * kMiB, 2) != nullptr);
  world.pool.drop_arena(second);
  CHECK(world.sound());
}

TEST_CASE("blocks of an arena outlive it, in use and freed as any other") {
  for (const PoolMode mode : {PoolMode::pooled, PoolMode::passthrough}) {
    for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 3 * kMiB}) {
      World world(World::Config{.capacity = 8 * kMiB, .mode = mode});
      const ArenaId arena = world.capture(1);
      void* output = world.pool.allocate(bytes, 1);
      void* inner = world.pool.allocate(bytes, 1);
      world.pool.deallocate(inner, 1);
      world.end_capture(1);
      world.pool.drop_arena(arena);
      CHECK(world.sound());
      void* other = world.pool.allocate(bytes, 1);
      CHECK(other != output);
      CHECK(world.pool.try_deallocate(output, 1, bytes) == Misuse::none);
      CHECK(world.pool.try_deallocate(output, 1) != Misuse::none);
      CHECK(world.pool.try_deallocate(other, 1, bytes) == Misuse::none);
      world.timeline->run_all();
      world.pool.trim(0);
      CHECK(world.pool.stats().held.current == 0);
      CHECK(world.sound());
    }
  }
}

TEST_CASE("a thousand captures leave nothing behind") {
  World world(World::Config{.immediate = true});
  world.pool.deallocate(world.pool.allocate(1000, 1), 1);
  std::size_t streams = 0;
  std::uint64_t held = 0, metadata = 0;
  void* kept = nullptr;
  ArenaId last = 0;
  for (int i = 0; i < 1000; ++i) {
    const ArenaId arena = world.capture(1);
    void* blocks[] = {world.pool.allocate(1000, 1), world.pool.allocate(300 * kKiB, 1),
                      world.pool.allocate(5 * kMiB, 1)};
    world.pool.deallocate(blocks[1], 1);
    world.pool.deallocate(blocks[2], 1);
    world.end_capture(1);
    // The graph of the round before goes, with the one block of it that still lived.
    world.pool.deallocate(kept, 1);
    world.pool.drop_arena(last);
    kept = blocks[0];
    last = arena;
    if (i == 100) {
      streams = world.pool.stats().streams.size();
      held = world.pool.stats().held.current;
      metadata = world.pool.stats().host_metadata;
    }
  }
  CHECK(world.pool.stats().streams.size() == streams);
  CHECK(world.pool.stats().held.current == held);
  CHECK(world.pool.stats().host_metadata == metadata);
  CHECK(world.sound());
}

TEST_CASE("two captures of one stream at a time, and captures of no stream, are errors") {
  World world;
  const ArenaId arena = world.capture(1);
  CHECK_THROWS_AS(world.pool.begin_capture(1), Error);
  CHECK_THROWS_AS(world.pool.begin_capture(99), Error);
  world.end_capture(1);
  world.pool.end_capture(1);  // there is none
  world.pool.end_capture(99);
  world.pool.drop_arena(arena);
  world.pool.drop_arena(arena);
  world.pool.drop_arena(12345);
  const ArenaId left = world.pool.begin_capture(2);
  world.pool.close();
  world.pool.drop_arena(left);
  CHECK_THROWS_AS(world.pool.begin_capture(1), ClosedError);
}

TEST_CASE("dropping the arena of a capture that is under way ends it") {
  World world(World::Config{.capacity = 8 * kMiB});
  const ArenaId arena = world.pool.begin_capture(1);
  world.pool.deallocate(world.pool.allocate(6 * kMiB, 1), 1);
  world.pool.drop_arena(arena);
  CHECK(world.pool.allocate(6 * kMiB, 1) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("no point is recorded or asked about between the two ends of a capture") {
  World world(World::Config{.capacity = 16 * kMiB, .point_every_frees = 1});
  void* before = world.pool.allocate(4 * kMiB, 1);
  const ArenaId arena = world.pool.begin_capture(1);
  // The driver does not capture yet, or no longer: the pool may not rely on what it says.
  const std::uint64_t records = world.pool.stats().timeline.records;
  world.pool.deallocate(before, 1);
  CHECK_THROWS_AS(world.pool.allocate(16 * kMiB, 2), OutOfMemory);
  CHECK(world.pool.stats().timeline.records == records);
  CHECK_FALSE(world.pool.retire_stream(1));
  world.pool.end_capture(1);
  CHECK(world.pool.allocate(16 * kMiB, 2) != nullptr);
  world.pool.drop_arena(arena);
  CHECK(world.sound());
}

TEST_CASE("a capture finds what an earlier graph gave back") {
  World world(World::Config{.capacity = 64 * kMiB, .immediate = true});
  std::uint64_t held = 0;
  for (int i = 0; i < 10; ++i) {
    const ArenaId arena = world.capture(1);
    world.pool.deallocate(world.pool.allocate(6 * kMiB, 1), 1);
    world.end_capture(1);
    world.timeline->work(1);
    world.pool.drop_arena(arena);
    if (i == 0) held = world.pool.stats().held.current;
  }
  CHECK(world.pool.stats().held.current == held);
  CHECK(world.sound());
}
