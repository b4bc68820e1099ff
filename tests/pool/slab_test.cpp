#include <set>

#include "pool/carrier.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kSlabBase = Address{1} << 30;

void live(Carrier& carrier, std::uint32_t index, std::size_t bytes) {
  carrier.slot(index).state = SlotState::live;
  carrier.slot(index).requested = 1;
  ++carrier.live;
  carrier.live_bytes += bytes;
}

void dead(Carrier& carrier, std::uint32_t index, std::size_t bytes) {
  carrier.slot(index).state = SlotState::away;
  --carrier.live;
  carrier.live_bytes -= bytes;
}

}  // namespace

TEST_CASE("every class has pages of whole blocks that waste little") {
  for (unsigned index = 0; index < kSlabClasses; ++index) {
    SlabPage page;
    page.open(kSlabBase, 1, index);
    INFO("class " << index << " of " << page.block_bytes());
    CHECK(page.count() >= 8);
    CHECK(page.count() * page.block_bytes() <= page.bytes);
    CHECK((page.bytes - page.count() * page.block_bytes()) * 32 <= page.bytes);
    std::set<std::uint32_t> seen;
    while (!page.full()) {
      const std::uint32_t slot = page.take();
      REQUIRE(seen.insert(slot).second);
      live(page, slot, page.block_bytes());
      const Address address = page.address_of(slot);
      const Carrier::Place first = page.locate(address);
      REQUIRE((first.exact && first.index == slot));
      const Carrier::Place last = page.locate(address + page.block_bytes() - 1);
      REQUIRE((!last.exact && last.index == slot));
    }
    CHECK(page.validate() == "");
    // The tail belongs to nobody.
    if (page.count() * page.block_bytes() < page.bytes) {
      CHECK(page.locate(kSlabBase + page.bytes - 1).slot == nullptr);
    }
  }
}

TEST_CASE("every short program on a page of eight blocks takes the lowest free block") {
  constexpr unsigned kClass = kSlabClasses - 1;  // 64 KiB
  constexpr unsigned kLength = 6, kOperations = 5;
  unsigned programs = 1;
  for (unsigned i = 0; i < kLength; ++i) programs *= kOperations;
  for (unsigned program = 0; program < programs; ++program) {
    SlabPage page;
    page.open(kSlabBase, 1, kClass);
    std::set<std::uint32_t> used;
    std::uint64_t pending = 0;
    std::set<std::uint32_t> waiting;
    unsigned rest = program;
    for (unsigned i = 0; i < kLength; ++i, rest /= kOperations) {
      switch (rest % kOperations) {
        case 0:
        case 1: {
          if (page.full()) break;
          std::uint32_t lowest = 0;
          while (used.count(lowest) != 0) ++lowest;
          REQUIRE(page.take() == lowest);
          live(page, lowest, page.block_bytes());
          used.insert(lowest);
          if (waiting.erase(lowest) != 0) pending -= page.block_bytes();
          break;
        }
        case 2:
        case 3: {
          if (used.empty()) break;
          const std::uint32_t slot = rest % kOperations == 2 ? *used.begin() : *used.rbegin();
          const bool waits = i % 2 == 0;
          dead(page, slot, page.block_bytes());
          page.give(slot, waits);
          used.erase(slot);
          if (waits) {
            waiting.insert(slot);
            pending += page.block_bytes();
          }
          break;
        }
        default:
          page.complete();
          waiting.clear();
          pending = 0;
      }
      REQUIRE(page.validate() == "");
      REQUIRE(page.in_use == used.size());
      REQUIRE(page.pending == pending);
    }
  }
}

TEST_CASE("a page that lies is caught") {
  SlabPage page;
  page.open(kSlabBase, 1, 3);
  live(page, page.take(), page.block_bytes());
  CHECK(page.validate() == "");
  SECTION("about a block") { page.slot(0).state = SlotState::free; }
  SECTION("about a block that is free") { page.slot(5).state = SlotState::live; }
  SECTION("about how many there are") { ++page.in_use; }
  SECTION("about what is pending") { page.pending = 1024; }
  SECTION("about a request") { page.slot(0).requested = 5000; }
  CHECK(page.validate() != "");
}
