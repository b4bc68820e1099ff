#include <string>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

std::string refusal(const World& world, const void* pointer) {
  try {
    (void)world.pool.pieces(pointer);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::size_t total(const BlockPieces& block) {
  std::size_t sum = 0;
  for (const BlockPieces::Piece& piece : block.pieces) sum += piece.bytes;
  return sum;
}

const std::string kRule = ": pieces are those of a live block, from its beginning";

}  // namespace

TEST_CASE("a block's pieces are whole handles that cover it") {
  World world(World::Config{.handle_size = 4 * kMiB});
  void* first = world.pool.allocate(3 * kMiB, 1);
  void* large = world.pool.allocate(10 * kMiB + 1, 1);
  const BlockPieces block = world.pool.pieces(large);
  CHECK(block.bytes == 10 * kMiB + 1);
  CHECK(block.offset + block.bytes <= total(block));
  CHECK(block.offset < block.pieces.front().bytes);
  CHECK(total(block) - block.pieces.back().bytes < block.offset + block.bytes);
  CHECK(block.pieces.size() >= 3);
  // The second begins right behind the first, in the same handle.
  const BlockPieces before = world.pool.pieces(first);
  CHECK(before.offset == 0);
  CHECK(before.pieces.size() == 1);
  CHECK(block.offset == 3 * kMiB);
  CHECK(block.pieces.front().handle == before.pieces.front().handle);
  CHECK(static_cast<char*>(large) == static_cast<char*>(first) + 3 * kMiB);
  CHECK(world.sound());
}

TEST_CASE("small blocks lie in the handle of their slab or chunk") {
  World world;
  void* slab = world.pool.allocate(1000, 1);
  void* next = world.pool.allocate(1000, 1);
  void* chunk = world.pool.allocate(200 * kKiB, 1);
  const BlockPieces first = world.pool.pieces(slab);
  const BlockPieces second = world.pool.pieces(next);
  CHECK(first.bytes == 1000);
  REQUIRE(first.pieces.size() == 1);
  CHECK(first.pieces[0].handle == second.pieces.at(0).handle);
  CHECK(static_cast<std::ptrdiff_t>(second.offset) - static_cast<std::ptrdiff_t>(first.offset) ==
        static_cast<char*>(next) - static_cast<char*>(slab));
  CHECK(world.pool.pieces(chunk).bytes == 200 * kKiB);
}

TEST_CASE("what is no live block has no pieces") {
  World world;
  auto* large = static_cast<char*>(world.pool.allocate(8 * kMiB, 1));
  auto* small = static_cast<char*>(world.pool.allocate(1000, 1));
  CHECK(refusal(world, large + 512) == "pool: interior pointer" + kRule);
  CHECK(refusal(world, small + 1) == "pool: interior pointer" + kRule);
  CHECK(refusal(world, &world) == "pool: foreign pointer" + kRule);
  CHECK(refusal(world, nullptr) == "pool: foreign pointer" + kRule);
  world.pool.deallocate(large, 1);
  world.pool.deallocate(small, 1);
  CHECK(refusal(world, large) == "pool: double free" + kRule);
  CHECK(refusal(world, small) == "pool: double free" + kRule);
  world.pool.close();
  CHECK_THROWS_AS(world.pool.pieces(large), ClosedError);
}

TEST_CASE("a live block's pieces stay through every move of idle memory") {
  World world(World::Config{.capacity = 64 * kMiB, .handle_size = 2 * kMiB, .immediate = true});
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(world.pool.allocate(4 * kMiB, 1));
  void* kept = blocks[7];
  const BlockPieces before = world.pool.pieces(kept);
  for (std::size_t i = 0; i < blocks.size(); i += 2) world.pool.deallocate(blocks[i], 1);
  void* moved = world.pool.allocate(30 * kMiB, 1);  // from scattered idle handles
  CHECK(world.pool.stats().ladder.remap.count > 0);
  const BlockPieces after = world.pool.pieces(kept);
  CHECK(after.offset == before.offset);
  REQUIRE(after.pieces.size() == before.pieces.size());
  for (std::size_t i = 0; i < after.pieces.size(); ++i) {
    CHECK(after.pieces[i].handle == before.pieces[i].handle);
  }
  CHECK(world.pool.pieces(moved).pieces.size() >= 15);
  CHECK(world.sound());
}

TEST_CASE("regions have no pieces") {
  const World regions(World::Config{.virtual_memory = false});
  CHECK(refusal(regions, &regions).find("/pool/backing") != std::string::npos);
  const World alone(World::Config{.mode = PoolMode::passthrough});
  CHECK(refusal(alone, &alone).find("/pool/backing") != std::string::npos);
}
