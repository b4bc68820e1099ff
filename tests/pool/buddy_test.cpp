#include <map>
#include <random>
#include <vector>

#include "pool/carrier.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kBuddyBase = Address{1} << 30;

// A naive model: one flag a leaf. A free aligned block is found by looking at every leaf.
class Naive {
 public:
  explicit Naive(std::size_t leaves) : used_(leaves, false) {}
  /// The lowest aligned run of free leaves, or -1.
  int lowest(unsigned order) const {
    const std::size_t size = std::size_t{1} << order;
    for (std::size_t at = 0; at + size <= used_.size(); at += size) {
      bool free = true;
      for (std::size_t leaf = at; leaf < at + size; ++leaf) free = free && !used_[leaf];
      if (free) return static_cast<int>(at);
    }
    return -1;
  }
  void set(std::uint32_t at, unsigned order, bool used) {
    for (std::size_t leaf = at; leaf < at + (std::size_t{1} << order); ++leaf) used_[leaf] = used;
  }

 private:
  std::vector<bool> used_;
};

struct Driver {
  explicit Driver(std::size_t leaf) : naive(kChunkBytes / leaf) { chunk.open(kBuddyBase, 1, leaf); }
  bool take(unsigned order) {
    const int lowest = naive.lowest(order);
    REQUIRE((lowest >= 0) == (chunk.highest_free() >= static_cast<int>(order)));
    if (lowest < 0) return false;
    const std::uint32_t leaf = chunk.take(order);
    REQUIRE(leaf == static_cast<std::uint32_t>(lowest));
    Slot& slot = chunk.slot(leaf);
    slot.state = SlotState::live;
    slot.requested = 1;
    ++chunk.live;
    chunk.live_bytes += chunk.leaf_bytes() << order;
    naive.set(leaf, order, true);
    blocks.emplace_back(leaf, order);
    return true;
  }
  void give(std::size_t which, bool pending) {
    const auto [leaf, order] = blocks[which];
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
    chunk.slot(leaf).state = SlotState::away;
    --chunk.live;
    chunk.live_bytes -= chunk.leaf_bytes() << order;
    chunk.give(leaf, pending);
    naive.set(leaf, order, false);
  }
  BuddyChunk chunk;
  Naive naive;
  std::vector<std::pair<std::uint32_t, unsigned>> blocks;
};

}  // namespace

TEST_CASE("every short program on a chunk of eight leaves agrees with a naive model") {
  constexpr unsigned kLength = 5, kOperations = 7;
  unsigned programs = 1;
  for (unsigned i = 0; i < kLength; ++i) programs *= kOperations;
  for (unsigned program = 0; program < programs; ++program) {
    Driver driver(kChunkBytes / 8);
    unsigned rest = program;
    for (unsigned i = 0; i < kLength; ++i, rest /= kOperations) {
      const unsigned operation = rest % kOperations;
      if (operation < 4) {
        driver.take(operation);
      } else if (operation < 6) {
        if (driver.blocks.empty()) continue;
        driver.give(operation == 4 ? 0 : driver.blocks.size() - 1, i % 2 == 0);
      } else {
        driver.chunk.complete();
        REQUIRE(driver.chunk.pending == 0);
      }
      REQUIRE(driver.chunk.validate() == "");
    }
  }
}

TEST_CASE("a long program with small leaves agrees too, and joins everything at the end") {
  std::mt19937 random(5);
  Driver driver(4 * kKiB);
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0 || driver.blocks.empty()) {
      driver.take(random() % 3 == 0 ? static_cast<unsigned>(random() % 9) : 0);
    } else {
      driver.give(random() % driver.blocks.size(), random() % 2 == 0);
    }
    if (i % 50 == 0) REQUIRE(driver.chunk.validate() == "");
  }
  while (!driver.blocks.empty()) driver.give(0, true);
  CHECK(driver.chunk.validate() == "");
  CHECK(driver.chunk.highest_free() == static_cast<int>(driver.chunk.top()));
  CHECK(driver.chunk.free_blocks(driver.chunk.top()) == 1);
}

TEST_CASE("a block is found from any address in it, and nothing where nothing is") {
  Driver driver(128 * kKiB);
  driver.take(0);
  driver.take(2);
  driver.give(0, false);
  CHECK(driver.chunk.locate(kBuddyBase).slot == nullptr);
  const Address block = driver.chunk.address_of(driver.blocks[0].first);
  CHECK(driver.chunk.locate(block).exact);
  CHECK_FALSE(driver.chunk.locate(block + 300 * kKiB).exact);
  CHECK(driver.chunk.locate(block + 300 * kKiB).index == driver.blocks[0].first);
  CHECK(driver.chunk.locate(block + 512 * kKiB).slot == nullptr);
}

TEST_CASE("a chunk that lies is caught") {
  Driver driver(128 * kKiB);
  driver.take(1);
  CHECK(driver.chunk.validate() == "");
  SECTION("about an order") { driver.chunk.slot(0).order = 2; }
  SECTION("about a state") { driver.chunk.slot(0).state = SlotState::free; }
  SECTION("about a count") { ++driver.chunk.live; }
  SECTION("about what is pending") { driver.chunk.slot(2).pending = true; }
  CHECK(driver.chunk.validate() != "");
}
