// A carrier: a span that is cut into blocks, as a slab page or as a buddy chunk.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

#include "pool/size_classes.hpp"
#include "pool/span_engine.hpp"

namespace forebay::pool {

/// `away`: freed, but it may be had by nobody or only by the stream that freed it.
enum class SlotState : std::uint8_t { free, live, away };

/// What is known of one block.
struct Slot {
  const char* tag = nullptr;
  StreamState* user = nullptr;  // who allocated it
  std::uint32_t requested = 0;
  SlotState state = SlotState::free;
  std::uint8_t order = 0;  // buddy
  bool shared = false;     // other streams use it too
  bool pending = false;    // buddy: free, but on its own stream only
};

/// The part that slab pages and buddy chunks have in common. Records are used again and never
/// destroyed before the pool, so that a stale pointer to one is harmless.
///
/// Thread safety: the mutex of `owner` guards everything; `owner` itself changes with the mutexes
/// of both owners held, so whoever locks an owner has to look again.
class alignas(64) Carrier {
 public:
  enum class Kind : std::uint8_t { slab, buddy };
  /// Where an address lies in a carrier.
  struct Place {
    Slot* slot = nullptr;  ///< the block around the address, null if there is none
    std::uint32_t index = 0;
    bool exact = false;  ///< the address is the block's first
  };

  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  // What every free reads stands first, in one line of the processor's cache.
  std::atomic<StreamState*> owner{nullptr};
  Address address = 0;
  std::size_t bytes = 0;

 protected:
  std::pmr::vector<Slot> slots_;

 public:
  const Kind kind;
  bool listed = false, queued = false;
  std::uint32_t in_use = 0;  // blocks that are live or away
  std::uint32_t live = 0;
  ExtentId extent = kNoExtent;
  std::uint64_t live_bytes = 0;
  std::uint64_t pending = 0;  // free bytes that wait for `last_point` of the owner
  Point last_point = 0;       // what the latest of the owner's frees in it carried
  // Lists of the cache that has it.
  Carrier* previous = nullptr;
  Carrier* next = nullptr;
  Carrier* queue_previous = nullptr;
  Carrier* queue_next = nullptr;
  Carrier* list_previous = nullptr;  // all of the cache
  Carrier* list_next = nullptr;

  [[nodiscard]] Slot& slot(std::uint32_t index) noexcept { return slots_[index]; }
  [[nodiscard]] const Slot& slot(std::uint32_t index) const noexcept { return slots_[index]; }
  /// Asks for what a free or an allocation will touch, so that its lines come all at once: with
  /// many live blocks none of them is near.
  void prefetch() const noexcept {
    for (std::size_t line = 0; line < 4; ++line) {
      __builtin_prefetch(reinterpret_cast<const char*>(this) + 64 * line, 1);
    }
  }
  /// Calls `visit(slot)` for every live block.
  template <typename Visit>
  void each_live(Visit&& visit) const {
    for (const Slot& block : slots_) {
      if (block.state == SlotState::live) visit(block);
    }
  }
  /// The address of a block.
  [[nodiscard]] Address address_of(std::uint32_t index) const noexcept;
  [[nodiscard]] Place locate(Address at) noexcept;
  /// Everything free is free for everybody from now on; or, of a carrier with nothing in use, free
  /// on the owner's stream only.
  virtual void complete() noexcept = 0;
  virtual void suspend() noexcept = 0;
  [[nodiscard]] virtual std::string validate() const = 0;

 protected:
  Carrier(Kind of, std::pmr::memory_resource* memory) : slots_(memory), kind(of) {}
  void reset(Address at, std::size_t size, ExtentId id, std::size_t slots);
  /// Checks counts against the slots, whose sizes `block_bytes` gives.
  [[nodiscard]] std::string lie(const char* what) const;
};

/// The carriers of a cache, in an order that means nothing. It takes no host memory, so that frees
/// and the end of a stream cannot lack any.
class CarrierList {
 public:
  class Iterator {
   public:
    explicit Iterator(Carrier* at) : at_(at) {}
    [[nodiscard]] Carrier* operator*() const noexcept { return at_; }
    Iterator& operator++() noexcept {
      at_ = at_->list_next;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Carrier* at_;
  };

  [[nodiscard]] Iterator begin() const noexcept { return Iterator(first_); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(nullptr); }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Walks the list; for checks.
  [[nodiscard]] bool has(const Carrier* carrier) const noexcept {
    for (const Carrier* one : *this) {
      if (one == carrier) return true;
    }
    return false;
  }
  void add(Carrier* carrier) noexcept {
    carrier->list_previous = nullptr;
    carrier->list_next = first_;
    if (first_ != nullptr) first_->list_previous = carrier;
    first_ = carrier;
    ++size_;
  }
  void remove(Carrier* carrier) noexcept {
    (carrier->list_previous == nullptr ? first_ : carrier->list_previous->list_next) =
        carrier->list_next;
    if (carrier->list_next != nullptr) carrier->list_next->list_previous = carrier->list_previous;
    carrier->list_previous = carrier->list_next = nullptr;
    --size_;
  }

 private:
  Carrier* first_ = nullptr;
  std::size_t size_ = 0;
};

/// A page of equal blocks, with one bitmap of those that are free and one of those among them that
/// are free on the owner's stream only.
class SlabPage final : public Carrier {
 public:
  /// `memory`: for its slots; it outlives the page.
  explicit SlabPage(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : Carrier(Kind::slab, memory) {}
  void open(Address at, ExtentId id, unsigned class_index);

  [[nodiscard]] unsigned class_index() const noexcept { return class_index_; }
  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] bool full() const noexcept { return in_use == count_; }
  [[nodiscard]] Address address_of(std::uint32_t index) const noexcept {
    return address + index * block_bytes_;
  }

  /// A free block becomes in use. At most four words are looked at. REQUIRES: not full.
  std::uint32_t take() noexcept {
    std::size_t word = 0;
    while (free_[word] == 0) ++word;
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(free_[word]));
    const std::uint64_t mask = std::uint64_t{1} << bit;
    free_[word] &= ~mask;
    if ((pending_bits_[word] & mask) != 0) {
      pending_bits_[word] &= ~mask;
      pending -= block_bytes_;
    }
    ++in_use;
    return static_cast<std::uint32_t>(word) * 64 + bit;
  }
  /// REQUIRES: the block is in use.
  void give(std::uint32_t index, bool is_pending) noexcept {
    const std::uint64_t mask = std::uint64_t{1} << (index % 64);
    free_[index / 64] |= mask;
    if (is_pending) {
      pending_bits_[index / 64] |= mask;
      pending += block_bytes_;
    }
    slots_[index].state = SlotState::free;
    --in_use;
  }
  [[nodiscard]] Place locate(Address at) noexcept {
    const Address offset = at - address;
    // Exact for pages up to 512 KiB: units < 2^11, and a block has at most 2^8 of them.
    const auto index = static_cast<std::uint32_t>(offset / kSlabUnit * inverse_ >> 20);
    if (index >= count_) return {};
    return {&slots_[index], index, address_of(index) == at};
  }
  void complete() noexcept override;
  void suspend() noexcept override;
  [[nodiscard]] std::string validate() const override;

 private:
  static constexpr std::size_t kWords = kMaxSlots / 64;
  unsigned class_index_ = 0;
  std::size_t block_bytes_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t inverse_ = 0;  // of the block's size in units of 256, as a fraction of 2^20
  std::array<std::uint64_t, kWords> free_{}, pending_bits_{};
};

/// A chunk of 2 MiB whose blocks are powers of two times a leaf; a bitmap of free blocks an order.
class BuddyChunk final : public Carrier {
 public:
  explicit BuddyChunk(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : Carrier(Kind::buddy, memory) {}
  void open(Address at, ExtentId id, std::size_t leaf_bytes);

  [[nodiscard]] std::size_t leaf_bytes() const noexcept { return leaf_bytes_; }
  /// The order of the whole chunk.
  [[nodiscard]] unsigned top() const noexcept { return top_; }
  /// The highest order of which a block is free, -1 if there is none.
  [[nodiscard]] int highest_free() const noexcept { return highest_; }
  [[nodiscard]] std::uint32_t free_blocks(unsigned order) const noexcept { return free_[order]; }
  [[nodiscard]] Address address_of(std::uint32_t leaf) const noexcept {
    return address + leaf * leaf_bytes_;
  }

  /// Adds its free blocks to `sums`, by order, and keeps them up to date there; null: no longer.
  void count_in(std::array<std::uint64_t, kMaxOrders>* sums) noexcept;

  /// The free block at the lowest address that is large enough, cut down to `order`; its first
  /// leaf. O(orders × words). REQUIRES: order <= highest_free().
  std::uint32_t take(unsigned order) noexcept;
  /// Joins the block with its free buddies. REQUIRES: `leaf` is the first of a block in use.
  void give(std::uint32_t leaf, bool is_pending) noexcept;
  [[nodiscard]] Place locate(Address at) noexcept;
  void complete() noexcept override;
  void suspend() noexcept override;
  [[nodiscard]] std::string validate() const override;

  // The cache's tree of chunks.
  BuddyChunk* left = nullptr;
  BuddyChunk* right = nullptr;
  std::uint32_t priority = 0;
  int highest_below = -1;  // the highest free order in the subtree

 private:
  static constexpr std::size_t kLeaves = std::size_t{1} << (kMaxOrders - 1);
  struct OrderMap {
    std::array<std::uint64_t, (kLeaves + 63) / 64> bits{};
  };
  [[nodiscard]] bool is_free(unsigned order, std::uint32_t leaf) const noexcept {
    const std::uint32_t block = leaf >> order;
    return (maps_[order].bits[block / 64] >> (block % 64) & 1) != 0;
  }
  [[nodiscard]] std::uint32_t first_free(unsigned order) const noexcept;
  void add_free(unsigned order, std::uint32_t leaf, bool is_pending) noexcept;
  void remove_free(unsigned order, std::uint32_t leaf) noexcept;
  void find_highest() noexcept;
  [[nodiscard]] std::uint64_t order_bytes(unsigned order) const noexcept {
    return std::uint64_t{leaf_bytes_} << order;
  }

  std::size_t leaf_bytes_ = 0;
  unsigned top_ = 0;
  int highest_ = -1;
  std::array<OrderMap, kMaxOrders> maps_{};
  std::array<std::uint32_t, kMaxOrders> free_{};
  std::array<std::uint64_t, kMaxOrders>* sums_ = nullptr;  // free blocks of many chunks
};

// Without a virtual call where it is a slab page: it is the hit path.
inline Address Carrier::address_of(std::uint32_t index) const noexcept {
  return kind == Kind::slab ? static_cast<const SlabPage*>(this)->address_of(index)
                            : static_cast<const BuddyChunk*>(this)->address_of(index);
}
inline Carrier::Place Carrier::locate(Address at) noexcept {
  return kind == Kind::slab ? static_cast<SlabPage*>(this)->locate(at)
                            : static_cast<BuddyChunk*>(this)->locate(at);
}

/// Bytes in blocks that are free, for everybody or pending.
[[nodiscard]] inline std::uint64_t free_bytes(const Carrier& carrier) noexcept {
  if (carrier.kind == Carrier::Kind::slab) {
    const auto& page = static_cast<const SlabPage&>(carrier);
    return std::uint64_t{page.count() - page.in_use} * page.block_bytes();
  }
  const auto& chunk = static_cast<const BuddyChunk&>(carrier);
  std::uint64_t bytes = 0;
  for (unsigned order = 0; order <= chunk.top(); ++order) {
    bytes += std::uint64_t{chunk.free_blocks(order)} * (chunk.leaf_bytes() << order);
  }
  return bytes;
}
/// Bytes in blocks that were freed, but that only the stream that did may have so far.
[[nodiscard]] inline std::uint64_t away_bytes(const Carrier& carrier) noexcept {
  const std::uint64_t blocks = carrier.kind == Carrier::Kind::buddy
                                   ? carrier.bytes
                                   : static_cast<const SlabPage&>(carrier).count() *
                                         static_cast<const SlabPage&>(carrier).block_bytes();
  return blocks - free_bytes(carrier) - carrier.live_bytes;
}

}  // namespace forebay::pool
