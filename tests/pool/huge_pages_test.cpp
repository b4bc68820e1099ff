// The memory of records.
#include "pool/huge_pages.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <random>

#include "pool/units.hpp"
#include "tests/support/catch.hpp"

namespace forebay::pool {

TEST_CASE("huge pages hand out aligned pieces that do not overlap") {
  HugePages memory;
  std::mt19937 random(1);
  std::map<std::uintptr_t, std::size_t> pieces;
  std::size_t sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t bytes = 1 + random() % (i % 100 == 0 ? 3 * kMiB / 100 : 2000);
    const std::size_t alignment = std::size_t{1} << random() % 8;
    void* piece = memory.allocate(bytes, alignment);
    std::memset(piece, i, bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(piece);
    REQUIRE(address % alignment == 0);
    const auto next = pieces.lower_bound(address);
    REQUIRE((next == pieces.end() || address + bytes <= next->first));
    if (next != pieces.begin()) {
      const auto before = std::prev(next);
      REQUIRE(before->first + before->second <= address);
    }
    pieces.emplace(address, bytes);
    sum += bytes;
  }
  CHECK(memory.bytes() >= sum);
  CHECK(memory.bytes() <= sum + sum / 2);
}

TEST_CASE("huge pages take little for little, and a block of its own for a large piece") {
  HugePages memory;
  CHECK(memory.bytes() == 0);
  static_cast<void>(memory.allocate(100, 8));
  CHECK(memory.bytes() == 64 * kKiB);
  static_cast<void>(memory.allocate(5 * kMiB, 4096));
  CHECK(memory.bytes() == 64 * kKiB + 5 * kMiB);
}

}  // namespace forebay::pool
