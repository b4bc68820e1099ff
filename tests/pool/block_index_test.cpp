#include "pool/block_index.hpp"

#include <map>
#include <random>

#include "pool/carrier.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kIndexBase = Address{1} << 44;

}  // namespace

TEST_CASE("a block is found by its first address only") {
  BlockIndex index;
  index.set_span(kIndexBase, 7);
  index.set_span(kIndexBase + 1024, 8);
  CHECK(index.span(kIndexBase) == 7);
  CHECK(index.span(kIndexBase + 1024) == 8);
  CHECK(index.span(kIndexBase + 512) == kNoExtent);
  CHECK(index.span(kIndexBase + 1) == kNoExtent);
  CHECK(index.span(kIndexBase + 1025) == kNoExtent);
  CHECK(index.span(0) == kNoExtent);
  CHECK(index.span(~Address{0}) == kNoExtent);
  CHECK(index.carrier(kIndexBase) == nullptr);
  index.clear_span(kIndexBase);
  CHECK(index.span(kIndexBase) == kNoExtent);
  CHECK(index.span(kIndexBase + 1024) == 8);
}

TEST_CASE("a carrier covers all of its addresses") {
  BlockIndex index;
  SlabPage page;
  const Address at = kIndexBase + 2 * kMiB - 64 * kKiB;  // across two windows
  index.set_carrier(at, 192 * kKiB, &page);
  CHECK(index.carrier(at) == &page);
  CHECK(index.carrier(at + 192 * kKiB - 1) == &page);
  CHECK(index.carrier(at - 1) == nullptr);
  CHECK(index.carrier(at + 192 * kKiB) == nullptr);
  CHECK(index.span_before(at + 5) == kNoExtent);
  index.clear_carrier(at, 192 * kKiB);
  CHECK(index.carrier(at) == nullptr);
}

TEST_CASE("the index agrees with a map, near and far, and keeps nothing of what is gone") {
  BlockIndex index;
  index.set_span(kIndexBase, 1);
  const std::size_t empty = index.metadata_bytes();
  std::map<Address, ExtentId> model{{kIndexBase, 1}};
  std::mt19937 random(9);
  for (int i = 0; i < 50'000; ++i) {
    // Dense in 256 KiB, sparse over 4 GiB.
    const Address address =
        kIndexBase + 64 * kKiB +
        (random() % 2 == 0 ? random() % 512 * 512 : random() % (1u << 23) * 512ull);
    const auto found = model.find(address);
    if (found == model.end()) {
      const auto id = static_cast<ExtentId>(1 + random() % 1'000'000);
      index.set_span(address, id);
      model[address] = id;
    } else {
      index.clear_span(address);
      model.erase(found);
    }
    const Address probe = kIndexBase + random() % (1ull << 32);
    const auto after = model.upper_bound(probe);
    REQUIRE(index.span_before(probe) == std::prev(after)->second);
    const auto exact = model.find(probe);
    REQUIRE(index.span(probe) == (exact == model.end() ? kNoExtent : exact->second));
  }
  for (const auto& [address, id] : model) {
    REQUIRE(index.span(address) == id);
    if (address != kIndexBase) index.clear_span(address);
  }
  CHECK(index.metadata_bytes() == empty);
}
