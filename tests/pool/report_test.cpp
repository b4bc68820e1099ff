#include <string>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

std::string report_of(World& world, std::size_t bytes, std::string* line = nullptr) {
  try {
    (void)world.pool.allocate(bytes, 1);
  } catch (const OutOfMemory& error) {
    if (line != nullptr) *line = error.what();
    return error.report();
  }
  return "no OutOfMemory";
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("OutOfMemory says what was asked, what there is and what would help") {
  World world(World::Config{.capacity = 32 * kMiB});
  (void)world.pool.allocate(12 * kMiB, 1, {.tag = "weights"});
  (void)world.pool.allocate(8 * kMiB, 1, {.tag = "activations"});
  (void)world.pool.allocate(4 * kMiB, 1, {.tag = "weights"});
  std::string line;
  const std::string report = report_of(world, 20 * kMiB, &line);
  has(line, "20971520 bytes requested, 25165824 in use");
  has(report, "requested            20971520");
  has(report, "in use               25165824");
  has(report, "pending              0");
  has(report, "held                 25165824");
  has(report, "capacity             33554432");
  has(report, "largest free range   0");
  has(report, "fragmentation");
  has(report, "device free memory");
  has(report, "rungs tried          cache, completed, map, steal, remap, trim, callback, wait");
  has(report, "weights: 16777216 bytes in 2 blocks\n                     activations: 8388608");
  has(report, "would help           a larger pool.capacity");
  CHECK(world.pool.stats().allocations.failed == 1);
  CHECK(world.sound());
}

TEST_CASE("OutOfMemory on a full device does not promise that a larger capacity helps") {
  World world(World::Config{.capacity = 64 * kMiB, .device = 16 * kMiB});
  (void)world.pool.allocate(10 * kMiB, 1);
  has(report_of(world, 10 * kMiB), "the source gave no memory (creating memory found no memory");
  CHECK(world.sound());
}

TEST_CASE("OutOfMemory names the headroom where that is the limit") {
  World world(World::Config{.capacity = 64 * kMiB, .headroom = 50 * kMiB, .device = 64 * kMiB});
  (void)world.pool.allocate(10 * kMiB, 1);
  has(report_of(world, 10 * kMiB), "would help           a smaller pool.headroom: of the device's");
}

TEST_CASE("OutOfMemory names the capacity where no whole granule fits below it") {
  World world(World::Config{.capacity = 9 * kMiB, .handle_size = 2 * kMiB});
  (void)world.pool.allocate(8 * kMiB, 1);
  has(report_of(world, 600 * kKiB), "would help           a larger pool.capacity: the device");
}

TEST_CASE("OutOfMemory advises no smaller handles than there can be") {
  World world(World::Config{.capacity = 8 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 7; ++i) blocks.push_back(world.pool.allocate(kMiB + 512, 1));
  for (std::size_t i = 0; i < blocks.size(); i += 2) world.pool.deallocate(blocks[i], 1);
  const std::string report = report_of(world, 4 * kMiB);
  CHECK(report.find("handle_size") == std::string::npos);
  has(report, "a larger pool.capacity");
}

TEST_CASE("OutOfMemory names an alignment that is too large") {
  World world(World::Config{.capacity = 32 * kMiB});
  std::string report;
  try {
    (void)world.pool.allocate(100, 1, {.alignment = std::size_t{64} << 20});
  } catch (const OutOfMemory& error) {
    report = error.report();
  }
  has(report, "would help           a smaller alignment, or a larger pool.capacity");
}

TEST_CASE("a request beyond the capacity fails at once, and so does one that overflows") {
  World world(World::Config{.capacity = 32 * kMiB});
  has(report_of(world, 33 * kMiB), "rungs tried          none: it is more than the capacity");
  has(report_of(world, 33 * kMiB), "would help           a larger pool.capacity");
  has(report_of(world, ~std::size_t{0}), "more than the capacity");
  has(report_of(world, ~std::size_t{0}), "would help           none: the request is larger than");
  CHECK_THROWS_AS(world.pool.allocate(100, 1, {.alignment = std::size_t{1} << 63}), OutOfMemory);
  CHECK(world.source->calls(SourceCall::create) == 0);
  CHECK(world.sound());
}

TEST_CASE("fragmentation is told from the ranges that everybody may take") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  void* a = world.pool.allocate(4 * kMiB, 1);
  void* b = world.pool.allocate(2 * kMiB, 1);
  void* c = world.pool.allocate(8 * kMiB, 1);
  void* d = world.pool.allocate(2 * kMiB, 1);
  world.pool.deallocate(a, 1);
  world.pool.deallocate(c, 1);
  (void)b;
  (void)d;
  // A miss learns that the frees have passed.
  CHECK_THROWS_AS(world.pool.allocate(61 * kMiB, 1), OutOfMemory);
  const PoolStats stats = world.pool.stats();
  CHECK(stats.pending.current == 0);
  CHECK(stats.span.allocated == 4 * kMiB);
  // The trim rung unmapped what was idle and found it was still not enough.
  CHECK(stats.free.current + stats.idle_handles.current == 12 * kMiB);
  CHECK(world.sound());
}
