// Orders of events that are meant to hurt: memory that is handed on between a free and its point.
#include <thread>
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
using forebay::pool::test::Shadow;
using forebay::pool::test::World;

namespace {

constexpr std::size_t kSizes[] = {1000, 200 * kKiB, 3 * kMiB};  // slab, buddy, span

std::uint64_t work_then_free(World& world, void* block, StreamId stream) {
  const std::uint64_t work = world.timeline->work(stream);
  REQUIRE(world.pool.try_deallocate(block, stream) == Misuse::none);
  return work;
}

// Memory on `stream` until there is no more; where each block lies.
std::vector<Address> take_all(World& world, std::size_t bytes, StreamId stream) {
  std::vector<Address> blocks;
  try {
    while (true) {
      blocks.push_back(reinterpret_cast<Address>(world.pool.allocate(bytes, stream)));
    }
  } catch (const OutOfMemory&) {
  }
  return blocks;
}

bool covers(const std::vector<Address>& blocks, std::size_t bytes, void* block) {
  const auto address = reinterpret_cast<Address>(block);
  for (const Address begin : blocks) {
    if (begin <= address && address < begin + bytes) return true;
  }
  return false;
}

}  // namespace

// The race of CUB's caching allocator, which records the event of a free after it has unlocked: a
// block that is common before that lets another stream see the event of an earlier free, which has
// passed.
TEST_CASE("a block that is free but whose point is not recorded is not ready by an older point") {
  for (const std::size_t bytes : kSizes) {
    INFO("block of " << bytes);
    World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0});
    void* block = world.pool.allocate(bytes, 1);
    // An earlier life of the same block, with a point that is recorded and passes.
    void* guard = world.pool.allocate(bytes, 1);
    work_then_free(world, block, 1);
    // Misses record a point, and learn that it has passed.
    CHECK_THROWS_AS(world.pool.allocate(8 * kMiB, 3), OutOfMemory);
    world.timeline->run_all();
    CHECK_THROWS_AS(world.pool.allocate(8 * kMiB, 3), OutOfMemory);
    REQUIRE(world.pool.try_deallocate(guard, 3) == Misuse::none);
    REQUIRE(world.hooks->calls(forebay::pool::test::TimeCall::record) > 0);
    block = world.pool.allocate(bytes, 1);
    const std::uint64_t work = work_then_free(world, block, 1);
    const std::vector<Address> taken = take_all(world, bytes, 2);
    if (covers(taken, bytes, block)) CHECK(world.timeline->ordered(2, 1, work));
    CHECK(world.sound());
  }
}

// The same in one instant: a thread frees while another is inside the record of a point.
TEST_CASE("a free while a point is being recorded waits for the next one") {
  for (const std::size_t bytes : kSizes) {
    for (const bool before : {true, false}) {
      INFO("block of " << bytes << (before ? ", before" : ", after"));
      World world(World::Config{.capacity = 8 * kMiB, .wait_limit_ms = 0});
      void* block = world.pool.allocate(bytes, 1);
      // Something that makes the next miss record a point on stream 1.
      void* other = world.pool.allocate(bytes, 1);
      work_then_free(world, other, 1);
      std::uint64_t work = 0;
      const auto racing = [&](StreamId stream) {
        REQUIRE(stream == 1);
        std::thread([&] { work = work_then_free(world, block, 1); }).join();
      };
      (before ? world.hooks->before_record : world.hooks->after_record) = racing;
      CHECK_THROWS_AS(world.pool.allocate(8 * kMiB, 2), OutOfMemory);
      REQUIRE(work > 0);
      // Stream 1 gets as far as the point, not to the work that came after it.
      world.timeline->run(1, before ? 3 : 2);
      const std::vector<Address> taken = take_all(world, bytes, 2);
      if (covers(taken, bytes, block)) CHECK(world.timeline->ordered(2, 1, work));
      CHECK(world.sound());
      CHECK(world.timeline->violations().empty());
    }
  }
}

// A third thread takes what is being freed, over and over; whoever gets it must be ordered.
TEST_CASE("a block that goes round three streams is always ordered after its last use") {
  for (const std::size_t bytes : kSizes) {
    INFO("block of " << bytes);
    World world(World::Config{.capacity = 8 * kMiB, .point_every_frees = 1, .streams = 3});
    Shadow shadow(*world.timeline);
    for (unsigned round = 0; round < 300; ++round) {
      const StreamId stream = 1 + round % 3;
      // All of the memory, so that it has to come from the others.
      std::vector<Address> blocks;
      for (std::size_t sum = 0; sum + 4 * kMiB <= 8 * kMiB; sum += bytes) {
        void* block = world.pool.allocate(bytes, stream);
        blocks.push_back(reinterpret_cast<Address>(block));
        REQUIRE(shadow.take(blocks.back(), bytes, stream) == "");
        if (blocks.size() == 40) break;
      }
      if (round % 5 == 0) world.timeline->run(1 + round / 5 % 3, round % 7);
      for (const Address block : blocks) {
        shadow.give(block);
        REQUIRE(world.pool.try_deallocate(reinterpret_cast<void*>(block), stream) == Misuse::none);
      }
    }
    CHECK(world.sound());
  }
}

// Every order of a few events: who frees, which stream runs and how far, who asks next.
TEST_CASE("every order of points on three streams hands nothing on early") {
  constexpr unsigned kEvents = 8;
  const unsigned length = by_build(5u, 3u, 3u);
  unsigned orders = 1;
  for (unsigned i = 0; i < length; ++i) orders *= kEvents;
  std::size_t handed_on = 0;
  for (unsigned order = 0; order < orders; ++order) {
    INFO("order " << order);
    World world(World::Config{.capacity = 6 * kMiB,
                              .slab_max_block = 0,
                              .buddy_max_block = 0,
                              .point_every_frees = 1,
                              .wait_limit_ms = 0,
                              .streams = 3});
    Shadow shadow(*world.timeline);
    std::vector<std::pair<Address, StreamId>> blocks;
    const auto allocate = [&](StreamId stream, std::size_t bytes) {
      try {
        const auto address = reinterpret_cast<Address>(world.pool.allocate(bytes, stream));
        REQUIRE(shadow.take(address, bytes, stream) == "");
        blocks.emplace_back(address, stream);
        ++handed_on;
      } catch (const OutOfMemory&) {
      }
    };
    const auto free = [&](bool shared) {
      if (blocks.empty()) return;
      const auto [address, stream] = blocks.front();
      blocks.erase(blocks.begin());
      void* block = reinterpret_cast<void*>(address);
      if (shared) {
        shadow.use(address, 1 + stream % 3);
        REQUIRE(world.pool.record_use(block, 1 + stream % 3) == Misuse::none);
      }
      shadow.give(address);
      REQUIRE(world.pool.try_deallocate(block, stream) == Misuse::none);
    };
    allocate(1, 2 * kMiB);
    allocate(2, 3 * kMiB);
    unsigned rest = order;
    for (unsigned i = 0; i < length; ++i, rest /= kEvents) {
      switch (rest % kEvents) {
        case 0:
        case 1:
        case 2:
          allocate(1 + rest % kEvents, (2 + i) * kMiB - 512 * i);
          break;
        case 3:
          free(false);
          break;
        case 4:
          free(true);
          break;
        default:
          world.timeline->run(rest % kEvents - 4, 2);
      }
    }
    REQUIRE(world.sound());
  }
  CHECK(handed_on > 2 * orders);
}
