// What nearly every call does: which of them stay on the hit path, and how those end that do not.
#include <thread>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

struct Work {
  std::uint64_t misses = 0, driver = 0;
  bool operator==(const Work&) const = default;
};

Work work_of(const World& world) {
  const PoolStats stats = world.pool.stats();
  Work work{0, stats.driver_calls()};
  for (const StreamStats& stream : stats.streams) work.misses += stream.misses;
  return work;
}

}  // namespace

TEST_CASE("a pair of any size misses nothing and calls no driver") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{256}, 4 * kKiB, 64 * kKiB, 128 * kKiB,
                                  256 * kKiB, kMiB, 2 * kMiB, 7 * kMiB}) {
    INFO(bytes << " bytes");
    World world;
    // Small ones beside others, so that no pair is at the edge of its page or chunk.
    void* const beside = world.pool.allocate(bytes, 1);
    world.pool.deallocate(world.pool.allocate(bytes, 1), 1);
    const Work before = work_of(world);
    for (int i = 0; i < 10'000; ++i) {
      void* const block = world.pool.allocate(bytes, 1);
      REQUIRE(world.pool.try_deallocate(block, 1, bytes) == Misuse::none);
    }
    CHECK(work_of(world) == before);
    world.pool.deallocate(beside, 1);
    CHECK(world.sound());
  }
}

TEST_CASE("what the hit path leaves to others ends as it should") {
  World world;
  void* const block = world.pool.allocate(3 * kKiB, 1);
  void* const large = world.pool.allocate(3 * kMiB, 1);
  auto* const inside = static_cast<std::byte*>(block) + 256;
  auto* const within = static_cast<std::byte*>(large) + 512;
  int other = 0;
  SECTION("another size") {
    CHECK(world.pool.try_deallocate(block, 1, 4 * kKiB) == Misuse::size_mismatch);
    CHECK(world.pool.try_deallocate(large, 1, 4 * kKiB) == Misuse::size_mismatch);
  }
  SECTION("an address inside") {
    CHECK(world.pool.try_deallocate(inside, 1) == Misuse::interior_pointer);
    CHECK(world.pool.try_deallocate(within, 1) == Misuse::interior_pointer);
  }
  SECTION("somebody else's memory") {
    CHECK(world.pool.try_deallocate(&other, 1) == Misuse::foreign_pointer);
  }
  SECTION("a stream that nobody knows") {
    CHECK(world.pool.try_deallocate(block, 99) == Misuse::wrong_device);
    CHECK(world.pool.try_deallocate(large, 99) == Misuse::wrong_device);
  }
  SECTION("another alignment") {
    void* const aligned = world.pool.allocate(3 * kKiB, 1, {.alignment = 8 * kKiB});
    CHECK(reinterpret_cast<Address>(aligned) % (8 * kKiB) == 0);
    CHECK_THROWS_AS(world.pool.allocate(3 * kKiB, 1, {.alignment = 300}), Error);
    CHECK(world.pool.try_deallocate(aligned, 1) == Misuse::none);
  }
  // Both live as before, and go once.
  CHECK(world.pool.try_deallocate(block, 1, 3 * kKiB) == Misuse::none);
  CHECK(world.pool.try_deallocate(large, 1, 3 * kMiB) == Misuse::none);
  CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
  CHECK(world.pool.try_deallocate(large, 1) == Misuse::double_free);
  CHECK(world.sound());
}

TEST_CASE(
    "a thread that works on another stream or pool between its calls gets that one's memory") {
  World one, two;
  std::vector<void*> first, second;
  for (int i = 0; i < 100; ++i) {
    first.push_back(one.pool.allocate(kKiB, 1));
    second.push_back(two.pool.allocate(kKiB, 2));
    first.push_back(one.pool.allocate(kKiB, 3));
  }
  CHECK(one.pool.stats().allocations.live == 200);
  CHECK(two.pool.stats().allocations.live == 100);
  std::thread elsewhere([&] {
    for (std::size_t i = 0; i < first.size(); ++i) {
      one.pool.deallocate(first[i], i % 2 == 0 ? 1 : 3, kKiB);
    }
  });
  elsewhere.join();
  for (void* const block : second) two.pool.deallocate(block, 2, kKiB);
  CHECK(one.sound());
  CHECK(two.sound());
  CHECK(one.pool.stats().allocations.live + two.pool.stats().allocations.live == 0);
}

TEST_CASE("one call in so many is timed, and does the same") {
  World world;
  for (int i = 0; i < 6400; ++i) {
    world.pool.deallocate(world.pool.allocate(kKiB, 1), 1);
  }
  const PoolStats stats = world.pool.stats();
  REQUIRE(stats.latency_ns.sampled_1_in == 64);
  CHECK(stats.latency_ns.allocate.count == 100);
  CHECK(stats.latency_ns.deallocate.count == 100);
  CHECK(stats.allocations.total == 6400);
}
