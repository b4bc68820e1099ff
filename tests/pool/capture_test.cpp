// Allocation while a stream captures a graph.
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

constexpr AllocateOptions kCapture{.capture = true};

}  // namespace

TEST_CASE("an arena's addresses stay with it, whatever else needs memory") {
  World world(World::Config{.capacity = 16 * kMiB, .handle_size = 2 * kMiB});
  world.timeline->set_capturing(1, true);
  std::vector<void*> blocks;
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 5 * kMiB}) {
    void* block = world.pool.allocate(bytes, 1, kCapture);
    world.pool.deallocate(block, 1, bytes);
    // Reused at once within the capture.
    CHECK(world.pool.allocate(bytes, 1, kCapture) == block);
    world.pool.deallocate(block, 1, bytes);
    blocks.push_back(block);
    CHECK(world.sound());
  }
  world.timeline->set_capturing(1, false);
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
  world.timeline->set_capturing(1, true);
  world.timeline->work(2);
  world.pool.deallocate(other, 2);
  // Blocks from before the capture are held until it ends.
  for (void* block : before) world.pool.deallocate(block, 1);
  CHECK(world.pool.stats().pending.current >= 8 * kMiB);
  void* fresh = world.pool.allocate(2 * kMiB, 1, kCapture);
  for (void* block : before) CHECK(fresh != block);
  // Everything is pending on one of the two, and stream 1 may not be touched.
  CHECK_THROWS_AS(world.pool.allocate(12 * kMiB, 3), OutOfMemory);
  CHECK(world.timeline->violations().empty());
  world.timeline->set_capturing(1, false);
  CHECK(world.pool.allocate(8 * kMiB, 3) != nullptr);
  CHECK(world.sound());
}

TEST_CASE("retiring the stream ends its arena") {
  for (const PoolMode mode : {PoolMode::pooled, PoolMode::passthrough}) {
    World world(World::Config{.capacity = 8 * kMiB, .mode = mode});
    world.timeline->set_capturing(1, true);
    void* small = world.pool.allocate(1000, 1, kCapture);
    void* large = world.pool.allocate(6 * kMiB, 1, kCapture);
    world.pool.deallocate(large, 1);
    world.pool.deallocate(small, 1);
    world.timeline->set_capturing(1, false);
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
    world.timeline->set_capturing(1, true);
    void* block = world.pool.allocate(bytes, 1, kCapture);
    world.timeline->work(2);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::double_free);
    CHECK(world.pool.allocate(bytes, 1, kCapture) != block);
    CHECK(world.sound());
  }
}
