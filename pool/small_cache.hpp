// A stream's own small memory: its slab pages, its buddy chunks, and others' blocks that it freed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pool/carrier.hpp"
#include "pool/chunk_tree.hpp"
#include "pool/delta.hpp"

namespace forebay::pool {

/// A first-in-first-out queue that can also give back its newest element, on one growing array.
template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] const T& front() const noexcept { return items_[head_]; }
  [[nodiscard]] const T& at(std::size_t i) const noexcept {
    return items_[(head_ + i) & (items_.size() - 1)];
  }
  void push(const T& item) {
    if (count_ == items_.size()) grow();
    items_[(head_ + count_++) & (items_.size() - 1)] = item;
  }
  T pop_front() noexcept {
    const T item = items_[head_];
    head_ = (head_ + 1) & (items_.size() - 1);
    --count_;
    return item;
  }
  T pop_back() noexcept { return items_[(head_ + --count_) & (items_.size() - 1)]; }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 8 : 2 * items_.size());
    for (std::size_t i = 0; i < count_; ++i) larger[i] = at(i);
    items_.swap(larger);
    head_ = 0;
  }
  std::vector<T> items_;
  std::size_t head_ = 0, count_ = 0;
};

/// A buddy block that was freed waits for the next request of its size, one of each size, before it
/// joins its neighbours: a pair splits and joins nothing. A miss sends them home before anything
/// else is tried.
///
/// What a free leaves behind when it empties a carrier: a few empty ones stay, so that a pair at
/// the edge of a page does not make and return it each time; further ones go back, so that they do
/// not cut up the memory.
///
/// Thread safety: the stream's mutex guards everything.
/// Costs: a slab block is found in one list head and at most four words, a buddy block in
/// O(log chunks).
class SmallCache {
 public:
  struct Block {
    Carrier* carrier = nullptr;
    std::uint32_t index = 0;
    [[nodiscard]] explicit operator bool() const noexcept { return carrier != nullptr; }
  };
  /// A block of another stream's carrier that was freed on this one.
  struct Foreign {
    Carrier* carrier = nullptr;
    std::uint32_t index = 0;
    Point point = 0;
    std::uint32_t bytes = 0;
  };
  struct ClassCounts {
    std::uint64_t carriers = 0, slots = 0, live = 0, live_bytes = 0, bytes = 0;
    void add(const ClassCounts& other) noexcept {
      carriers += other.carriers;
      slots += other.slots;
      live += other.live;
      live_bytes += other.live_bytes;
      bytes += other.bytes;
    }
  };

  /// A block in use from the carriers of this cache; none if they have none of the class.
  [[nodiscard]] Block take(ClassKey key) noexcept {
    if (key >= kSlabClasses) return take_buddy(key - kSlabClasses);
    SlabPage* page = partial_[key];
    if (page == nullptr) return {};
    const std::uint64_t before = page->pending;
    const std::uint32_t index = page->take();
    probes_ += 2 + index / 64;
    if (page->pending != before) note_pending(-static_cast<std::int64_t>(before - page->pending));
    if (page->full()) unlink(page);
    return {page, index};
  }
  /// A block in use is free again, under `point` if it is pending. Returns a carrier that should go
  /// back, null mostly.
  [[nodiscard]] Carrier* give(Block block, bool is_pending, Point point) noexcept {
    if (block.carrier->kind == Carrier::Kind::buddy) {
      return give_buddy(chunk_of(block.carrier), block.index, is_pending, point);
    }
    SlabPage* page = page_of(block.carrier);
    const bool was_full = page->full();
    page->give(block.index, is_pending);
    if (was_full) link(page);
    if (is_pending) {
      note_pending(static_cast<std::int64_t>(page->block_bytes()));
      queue(page, point);
    }
    if (page->in_use > 0) return nullptr;
    // One that is empty may stay as long as it is the only one with room.
    return page->next != nullptr || page->previous != nullptr ? page : spare(page);
  }
  /// The same, but a buddy block may be parked, which leaves it in use for its carrier. It is
  /// pending, like what is free under `point`.
  [[nodiscard]] Carrier* park(Block block, Point point) noexcept {
    return is_slab(block.carrier) ? give(block, true, point) : park_buddy(block, point);
  }
  [[nodiscard]] bool parks() const noexcept { return parked_count_ > 0; }
  [[nodiscard]] bool parks_in(const Carrier* carrier) const noexcept;
  /// Forgets what is parked, calling `visit(block, point)` for each: a block in use, and the point
  /// under which it may be given back.
  template <typename Visit>
  void unpark(Visit&& visit) {
    for (unsigned order = 0; parked_count_ > 0; ++order) {
      if (parked_[order].block) {
        // Points of the queue only rise.
        const Point latest = queue_tail_ == nullptr ? 0 : queue_tail_->last_point;
        const Point point = std::max(parked_[order].point, latest);
        visit(unpark_one(order), point);
      }
    }
  }
  /// The block becomes live; it stops being live, and is away.
  void occupy(Block block, StreamState* user, std::size_t requested, const char* tag) noexcept {
    Slot& slot = block.carrier->slot(block.index);
    slot.tag = tag;
    slot.user = user;
    slot.requested = static_cast<std::uint32_t>(requested);
    slot.state = SlotState::live;
    slot.shared = false;
    const std::size_t bytes = block_bytes(*block.carrier, block.index);
    ++block.carrier->live;
    block.carrier->live_bytes += bytes;
    ClassCounts& counts = counts_of(*block.carrier);
    ++counts.live;
    counts.live_bytes += bytes;
  }
  void vacate(Block block) noexcept {
    block.carrier->slot(block.index).state = SlotState::away;
    const std::size_t bytes = block_bytes(*block.carrier, block.index);
    --block.carrier->live;
    block.carrier->live_bytes -= bytes;
    ClassCounts& counts = counts_of(*block.carrier);
    --counts.live;
    counts.live_bytes -= bytes;
  }
  /// A live block of this cache's carriers leaves: another stream freed it, and has it for now. It
  /// comes back to be allocated there, or to be given back here.
  void lend(Block block) noexcept {
    vacate(block);
    lent_ += block_bytes(*block.carrier, block.index);
  }
  void occupy_lent(Block block, StreamState* user, std::size_t requested,
                   const char* tag) noexcept {
    lent_ -= block_bytes(*block.carrier, block.index);
    occupy(block, user, requested, tag);
  }
  [[nodiscard]] Carrier* give_lent(Block block) noexcept {
    lent_ -= block_bytes(*block.carrier, block.index);
    return give(block, false, 0);
  }
  /// Bytes of a block in use.
  [[nodiscard]] static std::size_t block_bytes(const Carrier& carrier,
                                               std::uint32_t index) noexcept {
    return is_slab(&carrier)
               ? static_cast<const SlabPage&>(carrier).block_bytes()
               : static_cast<const BuddyChunk&>(carrier).leaf_bytes() << carrier.slot(index).order;
  }

  void add(Carrier* carrier) noexcept;
  void remove(Carrier* carrier) noexcept;
  /// A carrier with a free block of the class, null if there is none.
  [[nodiscard]] Carrier* with_room(ClassKey key) const noexcept;
  /// Any carrier that is wholly empty. O(carriers).
  [[nodiscard]] Carrier* any_empty() const noexcept;

  /// A foreign block of the class, the latest freed one.
  [[nodiscard]] bool take_foreign(ClassKey key, Foreign* foreign) noexcept;
  /// Throws std::bad_alloc; nothing has changed then.
  void add_foreign(ClassKey key, const Foreign& foreign);
  /// What was freed up to `passed` is free for everybody; foreign blocks of that kind are moved to
  /// `home`, as many as have room there. Returns their number; if that is all room, there may be
  /// more.
  std::size_t complete(Point passed, std::span<Foreign> home) noexcept;

  [[nodiscard]] std::uint64_t pending() const noexcept { return pending_; }
  [[nodiscard]] const CarrierList& carriers() const noexcept { return carriers_; }
  [[nodiscard]] std::size_t foreign_blocks() const noexcept { return foreign_count_; }
  /// [class] of slabs; the last one is of all buddy chunks.
  [[nodiscard]] const std::array<ClassCounts, kSlabClasses + 1>& counts() const noexcept {
    return counts_;
  }
  /// Bytes in blocks of its carriers that are free for everybody on its streams, though only this
  /// cache has them.
  [[nodiscard]] std::uint64_t stranded() const noexcept;
  /// Free blocks of its buddy chunks by order.
  [[nodiscard]] const std::array<std::uint64_t, kMaxOrders>& free_orders() const noexcept {
    return free_orders_;
  }
  /// Pages, words of bitmaps and chunks that `take` has looked at, in all.
  [[nodiscard]] std::uint64_t probes() const noexcept { return probes_ + chunks_.probes(); }
  [[nodiscard]] std::string validate() const;

  Delta pending_delta;

 private:
  [[nodiscard]] static bool is_slab(const Carrier* carrier) noexcept {
    return carrier->kind == Carrier::Kind::slab;
  }
  [[nodiscard]] static SlabPage* page_of(Carrier* carrier) noexcept {
    return static_cast<SlabPage*>(carrier);
  }
  [[nodiscard]] static BuddyChunk* chunk_of(Carrier* carrier) noexcept {
    return static_cast<BuddyChunk*>(carrier);
  }
  [[nodiscard]] ClassCounts& counts_of(const Carrier& carrier) noexcept {
    return is_slab(&carrier) ? counts_[static_cast<const SlabPage&>(carrier).class_index()]
                             : counts_[kSlabClasses];
  }
  struct Parked {
    Block block;
    Point point = 0;
  };
  [[nodiscard]] Carrier* park_buddy(Block block, Point point) noexcept;
  [[nodiscard]] Block unpark_one(unsigned order) noexcept;
  [[nodiscard]] Carrier* spare(Carrier* page) noexcept;
  [[nodiscard]] Block take_buddy(unsigned order) noexcept;
  [[nodiscard]] Carrier* give_buddy(BuddyChunk* chunk, std::uint32_t leaf, bool is_pending,
                                    Point point) noexcept;
  void link(Carrier* carrier) noexcept {
    SlabPage* page = page_of(carrier);
    SlabPage*& head = partial_[page->class_index()];
    page->previous = nullptr;
    page->next = head;
    if (head != nullptr) head->previous = page;
    head = page;
    page->listed = true;
  }
  void unlink(Carrier* carrier) noexcept {
    if (carrier->previous != nullptr) {
      carrier->previous->next = carrier->next;
    } else {
      partial_[page_of(carrier)->class_index()] =
          carrier->next == nullptr ? nullptr : page_of(carrier->next);
    }
    if (carrier->next != nullptr) {
      carrier->next->prefetch();  // the next allocation's
      carrier->next->previous = carrier->previous;
    }
    carrier->previous = carrier->next = nullptr;
    carrier->listed = false;
  }
  void queue(Carrier* carrier, Point point) noexcept {
    if (!carrier->queued || carrier->last_point != point) requeue(carrier, point);
  }
  void requeue(Carrier* carrier, Point point) noexcept;
  void unqueue(Carrier* carrier) noexcept;
  void note_pending(std::int64_t change) noexcept {
    pending_ += static_cast<std::uint64_t>(change);
    pending_delta.add(change);
  }

  std::array<SlabPage*, kSlabClasses> partial_{};  // pages with free blocks
  ChunkTree chunks_;
  std::array<Carrier*, 4> spare_pages_{};  // the latest that were emptied; some are in use again
  unsigned next_spare_ = 0;
  BuddyChunk* spare_chunk_ = nullptr;        // a wholly empty one
  std::array<Parked, kMaxOrders> parked_{};  // by order
  unsigned parked_count_ = 0;
  Carrier* queue_head_ = nullptr;  // with something pending, by last_point
  Carrier* queue_tail_ = nullptr;
  CarrierList carriers_;
  std::array<Ring<Foreign>, kClassKeys> foreign_;
  std::size_t foreign_count_ = 0;
  std::uint64_t foreign_bytes_ = 0;
  std::uint64_t lent_ = 0;  // bytes of its carriers' blocks that are away, but not parked
  std::array<std::uint64_t, kMaxOrders> free_orders_{};
  std::uint64_t pending_ = 0, probes_ = 0;
  std::array<ClassCounts, kSlabClasses + 1> counts_{};
};

}  // namespace forebay::pool
