#include "pool/block_watch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

World::Config traced(StackMode mode, std::size_t sample_bytes = 4096) {
  World::Config config;
  config.stacks = mode;
  config.sample_bytes = sample_bytes;
  return config;
}

__attribute__((noinline)) void* one_place(World& world, std::size_t bytes) {
  void* block = world.pool.allocate(bytes, 1, {.tag = "traced"});
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
// Different from the other one, or the compiler makes one function of both.
__attribute__((noinline)) void* another_place(World& world, std::size_t bytes) {
  void* block = world.pool.allocate(bytes, 1, {.alignment = 512, .tag = "traced"});
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

bool names(const LeakGroup& group, const std::string& function) {
  return std::any_of(group.site.begin(), group.site.end(), [&](const std::string& frame) {
    return frame.find(function) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("without stacks a leak report goes by tag") {
  World world;
  (void)world.pool.allocate(1000, 1, {.tag = "a"});
  (void)world.pool.allocate(300'000, 2, {.tag = "b"});
  (void)world.pool.allocate(3 * kMiB, 2, {.tag = "a"});
  void* gone = world.pool.allocate(5, 1);
  world.pool.deallocate(gone, 1);
  const LeakReport report = world.pool.leak_report();
  CHECK(report.blocks == 3);
  CHECK(report.bytes == 1000 + 300'000 + 3 * kMiB);
  REQUIRE(report.groups.size() == 2);
  CHECK(report.groups[0].tag == "a");
  CHECK(report.groups[0].blocks == 2);
  CHECK(report.groups[1].bytes == 300'000);
  CHECK(report.groups[1].site.empty());
  CHECK(report.symbols == "none");
}

TEST_CASE("one place is one group, by whichever way through the pool") {
  // Some of these are timed, some miss.
  World world(traced(StackMode::all));
  for (int i = 0; i < 1000; ++i) (void)one_place(world, 1000);
  const LeakReport report = world.pool.leak_report();
  REQUIRE(report.groups.size() == 1);
  CHECK(report.groups[0].blocks == 1000);
  CHECK(report.groups[0].first == 1);
  CHECK(report.groups[0].last == 1000);
}

TEST_CASE("with all stacks a leak report goes by tag and place") {
  World world(traced(StackMode::all));
  std::vector<void*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(one_place(world, 1000));
  for (int i = 0; i < 2; ++i) blocks.push_back(another_place(world, 5000));
  blocks.push_back(one_place(world, 1000));
  world.pool.deallocate(blocks[0], 1);
  world.pool.deallocate(blocks[4], 1);
  const LeakReport report = world.pool.leak_report();
  CHECK(report.blocks == 4);
  CHECK(report.bytes == 8000);
  // The two calls of one_place stand in different lines of this test.
  REQUIRE(report.groups.size() == 3);
  const LeakGroup& most = report.groups[0];
  CHECK(most.bytes == 5000);
  CHECK(most.first == 4);
  CHECK(most.last == 4);
  CHECK(report.groups[1].bytes == 2000);
  CHECK(report.groups[1].first == 2);
  CHECK(report.groups[1].last == 3);
  if (report.symbols == "libdw") {
    CHECK(names(most, "another_place"));
    CHECK_FALSE(names(most, "one_place"));
    CHECK(names(report.groups[1], "one_place"));
    CHECK(most.site[0].rfind("forebay::pool::Pool", 0) == std::string::npos);
  }
  const Count records = world.pool.stats().debug.records;
  CHECK(records == 4);
}

TEST_CASE("after close the report tells what was live then, and so does the log") {
  World world(traced(StackMode::all));
  (void)one_place(world, 1000);
  world.pool.deallocate(another_place(world, 1000), 1);
  world.pool.close();
  const LeakReport report = world.pool.leak_report();
  CHECK(report.blocks == 1);
  REQUIRE(report.groups.size() == 1);
  CHECK_FALSE(report.groups[0].site.empty());
  CHECK(world.logged("pool: closed with 1 live blocks of 1000 bytes in all"));
  CHECK(world.logged("traced: 1 blocks, 1000 bytes"));
  if (report.symbols == "libdw") CHECK(world.logged("one_place"));
}

TEST_CASE("a sample by bytes stands for all of them") {
  // Small and large blocks; each kind has to be estimated by what was sampled of it.
  World world(traced(StackMode::sampled, 64 * kKiB));
  std::uint64_t small = 0, large = 0;
  for (int i = 0; i < 20'000; ++i) {
    (void)one_place(world, 1000);
    small += 1000;
    if (i % 100 == 0) {
      (void)another_place(world, 150'000);
      large += 150'000;
    }
  }
  const LeakReport report = world.pool.leak_report();
  CHECK(report.bytes == small + large);
  std::uint64_t estimated_small = 0, estimated_large = 0, sampled = 0, blocks = 0;
  for (const LeakGroup& group : report.groups) {
    blocks += group.blocks;
    if (group.site.empty()) {
      CHECK(group.estimated_bytes == 0);
      continue;
    }
    sampled += group.blocks;
    (group.bytes / group.blocks == 1000 ? estimated_small : estimated_large) +=
        group.estimated_bytes;
  }
  CHECK(blocks == 20'200);
  CHECK(sampled == world.pool.stats().debug.records);
  CHECK(sampled < 1000);
  CHECK(static_cast<double>(estimated_small) == Approx(static_cast<double>(small)).epsilon(0.25));
  CHECK(static_cast<double>(estimated_large) == Approx(static_cast<double>(large)).epsilon(0.25));
}

TEST_CASE("records are those of live blocks, whatever the history") {
  for (const StackMode mode : {StackMode::sampled, StackMode::all}) {
    World world(traced(mode, 1));
    for (int i = 0; i < 10'000; ++i) world.pool.deallocate(one_place(world, 2000), 1);
    CHECK(world.pool.stats().debug.records == 0);
    CHECK(world.sound());
  }
}

TEST_CASE("a damaged block's line says where it was allocated") {
  World::Config config = traced(StackMode::all);
  config.tools = true;
  config.canary = 16;
  World world(config);
  void* block = one_place(world, 1000);
  world.tools->poke(block, 1000, 0);
  world.pool.deallocate(block, 1);
  CHECK(world.logged("byte 0 behind its 1000 bytes was changed, tag traced, allocated in "));
}
