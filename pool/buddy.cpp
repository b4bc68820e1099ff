// Buddy chunks.
#include <algorithm>
#include <bit>

#include "pool/carrier.hpp"

namespace forebay::pool {

void BuddyChunk::open(Address at, ExtentId id, std::size_t leaf_size) {
  leaf_bytes_ = leaf_size;
  const std::size_t leaves = kChunkBytes / leaf_size;
  top_ = log2_floor(leaves);
  reset(at, kChunkBytes, id, leaves);
  maps_ = {};
  free_ = {};
  sums_ = nullptr;
  add_free(top_, 0, false);
  highest_ = static_cast<int>(top_);
  left = right = nullptr;
}

std::uint32_t BuddyChunk::first_free(unsigned order) const noexcept {
  std::size_t word = 0;
  while (maps_[order].bits[word] == 0) ++word;
  const auto block = static_cast<std::uint32_t>(word) * 64 +
                     static_cast<std::uint32_t>(std::countr_zero(maps_[order].bits[word]));
  return block << order;
}

void BuddyChunk::add_free(unsigned order, std::uint32_t leaf, bool is_pending) noexcept {
  const std::uint32_t block = leaf >> order;
  maps_[order].bits[block / 64] |= std::uint64_t{1} << (block % 64);
  ++free_[order];
  if (sums_ != nullptr) ++(*sums_)[order];
  slots_[leaf].state = SlotState::free;
  slots_[leaf].order = static_cast<std::uint8_t>(order);
  slots_[leaf].pending = is_pending;
  if (is_pending) pending += order_bytes(order);
}

void BuddyChunk::remove_free(unsigned order, std::uint32_t leaf) noexcept {
  const std::uint32_t block = leaf >> order;
  maps_[order].bits[block / 64] &= ~(std::uint64_t{1} << (block % 64));
  --free_[order];
  if (sums_ != nullptr) --(*sums_)[order];
  if (slots_[leaf].pending) pending -= order_bytes(order);
  slots_[leaf].pending = false;
}

void BuddyChunk::count_in(std::array<std::uint64_t, kMaxOrders>* sums) noexcept {
  for (unsigned order = 0; order <= top_; ++order) {
    if (sums_ != nullptr) (*sums_)[order] -= free_[order];
    if (sums != nullptr) (*sums)[order] += free_[order];
  }
  sums_ = sums;
}

void BuddyChunk::find_highest() noexcept {
  highest_ = static_cast<int>(top_);
  while (highest_ >= 0 && free_[static_cast<unsigned>(highest_)] == 0) --highest_;
}

std::uint32_t BuddyChunk::take(unsigned order) noexcept {
  std::uint32_t leaf = ~std::uint32_t{0};
  unsigned from = 0;
  for (unsigned o = order; o <= top_; ++o) {
    if (free_[o] == 0) continue;
    const std::uint32_t first = first_free(o);
    if (first < leaf) {
      leaf = first;
      from = o;
    }
  }
  const bool is_pending = slots_[leaf].pending;
  remove_free(from, leaf);
  while (from > order) {
    --from;
    add_free(from, leaf + (1u << from), is_pending);
  }
  slots_[leaf].order = static_cast<std::uint8_t>(order);
  ++in_use;
  find_highest();
  return leaf;
}

void BuddyChunk::give(std::uint32_t leaf, bool is_pending) noexcept {
  unsigned order = slots_[leaf].order;
  slots_[leaf].state = SlotState::free;
  for (; order < top_; ++order) {
    const std::uint32_t buddy = leaf ^ (1u << order);
    if (!is_free(order, buddy)) break;
    is_pending |= slots_[buddy].pending;
    remove_free(order, buddy);
    leaf &= ~(1u << order);
  }
  add_free(order, leaf, is_pending);
  --in_use;
  find_highest();
}

Carrier::Place BuddyChunk::locate(Address at) noexcept {
  const auto leaf = static_cast<std::uint32_t>((at - address) >> log2_floor(leaf_bytes_));
  for (unsigned order = 0; order <= top_; ++order) {
    const std::uint32_t first = leaf & ~((1u << order) - 1);
    Slot& block = slots_[first];
    if (block.state != SlotState::free && block.order >= order &&
        first + (1u << block.order) > leaf) {
      return {&block, first, address_of(first) == at};
    }
  }
  return {};
}

void BuddyChunk::complete() noexcept {
  for (unsigned order = 0; order <= top_; ++order) {
    for (std::size_t word = 0; word < maps_[order].bits.size(); ++word) {
      for (std::uint64_t bits = maps_[order].bits[word]; bits != 0; bits &= bits - 1) {
        const auto block = static_cast<std::uint32_t>(word * 64) +
                           static_cast<std::uint32_t>(std::countr_zero(bits));
        slots_[block << order].pending = false;
      }
    }
  }
  pending = 0;
}

void BuddyChunk::suspend() noexcept {
  slots_[0].pending = true;
  pending = kChunkBytes;
}

std::string BuddyChunk::validate() const {
  const auto leaves = static_cast<std::uint32_t>(slots_.size());
  std::array<std::uint32_t, kMaxOrders> seen{};
  std::uint32_t used = 0, alive = 0;
  std::uint64_t waiting = 0, alive_bytes = 0;
  int highest = -1;
  for (std::uint32_t leaf = 0; leaf < leaves;) {
    const Slot& block = slots_[leaf];
    const unsigned order = block.order;
    if (order > top_ || leaf % (1u << order) != 0) return lie("a block lies askew");
    if (block.state == SlotState::free) {
      if (!is_free(order, leaf)) return lie("a free block is not in its bitmap");
      if (order < top_ && is_free(order, leaf ^ (1u << order))) return lie("two free buddies");
      ++seen[order];
      highest = std::max(highest, static_cast<int>(order));
      waiting += block.pending ? order_bytes(order) : 0;
    } else {
      ++used;
      if (block.state == SlotState::live) {
        ++alive;
        alive_bytes += order_bytes(order);
        if (block.requested == 0 || block.requested > order_bytes(order)) {
          return lie("a block is too small for its request");
        }
      }
    }
    leaf += 1u << order;
  }
  for (unsigned order = 0; order < kMaxOrders; ++order) {
    std::uint32_t bits = 0;
    for (const std::uint64_t word : maps_[order].bits) {
      bits += static_cast<std::uint32_t>(std::popcount(word));
    }
    if (bits != seen[order] || free_[order] != seen[order]) return lie("a bitmap counts wrongly");
  }
  if (used != in_use || alive != live || alive_bytes != live_bytes || waiting != pending ||
      highest != highest_) {
    return lie("its counts are wrong");
  }
  return {};
}

}  // namespace forebay::pool
