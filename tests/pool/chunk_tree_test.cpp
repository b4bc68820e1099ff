#include "pool/chunk_tree.hpp"

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

using namespace forebay::pool;

TEST_CASE("the tree finds the lowest chunk with room, like a scan of all chunks") {
  std::mt19937 random(3);
  ChunkTree tree;
  std::map<Address, std::unique_ptr<BuddyChunk>> chunks;
  const auto any = [&] {
    auto at = chunks.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % chunks.size()));
    return at;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto kind = random() % 8;
    if (kind == 0 || chunks.empty()) {
      const Address address = (1 + random() % 100'000) * kChunkBytes;
      if (chunks.count(address) != 0) continue;
      auto chunk = std::make_unique<BuddyChunk>();
      chunk->open(address, 1, 256 * kKiB);
      tree.insert(chunk.get());
      chunks[address] = std::move(chunk);
    } else if (kind == 1 && chunks.size() > 50) {
      const auto at = any();
      tree.erase(at->second.get());
      chunks.erase(at);
    } else if (kind < 5) {
      BuddyChunk& chunk = *any()->second;
      const auto order = static_cast<unsigned>(random() % 3);
      if (chunk.highest_free() < static_cast<int>(order)) continue;
      chunk.slot(chunk.take(order)).state = SlotState::live;
      tree.update(&chunk);
    } else {
      const auto order = static_cast<unsigned>(random() % 4);
      const BuddyChunk* expected = nullptr;
      for (const auto& [address, chunk] : chunks) {
        if (chunk->highest_free() >= static_cast<int>(order)) {
          expected = chunk.get();
          break;
        }
      }
      REQUIRE(tree.lowest(order) == expected);
    }
    if (i < 500 || i % 97 == 0) REQUIRE(tree.validate());
  }
}
