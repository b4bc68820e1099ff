// The chunks of a cache by address, to find the lowest one with a free block of some order.
#pragma once

#include <string>

#include "pool/carrier.hpp"

namespace forebay::pool {

/// A treap whose nodes are the chunks themselves: no memory of its own, O(log n) expected, and each
/// node knows the highest free order below it. Not thread-safe.
class ChunkTree {
 public:
  void insert(BuddyChunk* chunk) noexcept;
  void erase(BuddyChunk* chunk) noexcept;
  /// Call it when the chunk's highest free order has changed.
  void update(BuddyChunk* chunk) noexcept;
  /// The chunk at the lowest address with a free block of at least `order`; null if none has one.
  [[nodiscard]] BuddyChunk* lowest(unsigned order) const noexcept;
  [[nodiscard]] bool validate() const noexcept;

  /// Chunks that `lowest` has looked at, in all.
  [[nodiscard]] std::uint64_t probes() const noexcept { return probes_; }

 private:
  mutable std::uint64_t probes_ = 0;
  BuddyChunk* root_ = nullptr;
};

}  // namespace forebay::pool
