#include "pool/small_cache.hpp"

#include <algorithm>
#include <utility>

namespace forebay::pool {
SmallCache::Block SmallCache::take_buddy(unsigned order) noexcept {
  if (parked_[order].block) return unpark_one(order);
  BuddyChunk* chunk = chunks_.lowest(order);
  if (chunk == nullptr) return {};
  const std::uint64_t before = chunk->pending;
  const int highest = chunk->highest_free();
  const std::uint32_t leaf = chunk->take(order);
  if (chunk->pending != before) note_pending(-static_cast<std::int64_t>(before - chunk->pending));
  if (chunk->highest_free() != highest) chunks_.update(chunk);
  if (chunk == spare_chunk_) spare_chunk_ = nullptr;
  return {chunk, leaf};
}

Carrier* SmallCache::give_buddy(BuddyChunk* chunk, std::uint32_t leaf, bool is_pending,
                                Point point) noexcept {
  const std::uint64_t before = chunk->pending;
  const int highest = chunk->highest_free();
  chunk->give(leaf, is_pending);
  if (chunk->highest_free() != highest) chunks_.update(chunk);
  note_pending(static_cast<std::int64_t>(chunk->pending - before));
  if (is_pending) queue(chunk, point);
  if (chunk->in_use > 0) return nullptr;
  if (spare_chunk_ == nullptr) {
    spare_chunk_ = chunk;
    return nullptr;
  }
  // The lower one stays, so that the upper end empties.
  return spare_chunk_->address < chunk->address ? chunk : std::exchange(spare_chunk_, chunk);
}

Carrier* SmallCache::park_buddy(Block block, Point point) noexcept {
  Parked& place = parked_[block.carrier->slot(block.index).order];
  if (place.block) return give(block, true, point);
  place = {block, point};
  ++parked_count_;
  note_pending(static_cast<std::int64_t>(block_bytes(*block.carrier, block.index)));
  return nullptr;
}

SmallCache::Block SmallCache::unpark_one(unsigned order) noexcept {
  const Block block = std::exchange(parked_[order], {}).block;
  --parked_count_;
  note_pending(-static_cast<std::int64_t>(block_bytes(*block.carrier, block.index)));
  return block;
}

bool SmallCache::parks_in(const Carrier* carrier) const noexcept {
  return parks() && std::any_of(parked_.begin(), parked_.end(), [carrier](const Parked& parked) {
           return parked.block.carrier == carrier;
         });
}

// Keeps an empty page; returns the one that has to go for it.
Carrier* SmallCache::spare(Carrier* page) noexcept {
  Carrier** place = nullptr;
  for (Carrier*& kept : spare_pages_) {
    if (kept == page) return nullptr;
    if (kept == nullptr || kept->in_use > 0) place = &kept;
  }
  if (place == nullptr) place = &spare_pages_[next_spare_++ % spare_pages_.size()];
  Carrier* gone = std::exchange(*place, page);
  return gone != nullptr && gone->in_use == 0 ? gone : nullptr;
}

void SmallCache::add(Carrier* carrier) noexcept {
  carriers_.add(carrier);
  ClassCounts& counts = counts_of(*carrier);
  ++counts.carriers;
  counts.bytes += carrier->bytes;
  counts.live += carrier->live;
  counts.live_bytes += carrier->live_bytes;
  lent_ += away_bytes(*carrier);
  note_pending(static_cast<std::int64_t>(carrier->pending));
  if (carrier->pending > 0) queue(carrier, carrier->last_point);
  if (is_slab(carrier)) {
    counts.slots += page_of(carrier)->count();
    if (!page_of(carrier)->full()) link(carrier);
  } else {
    chunks_.insert(chunk_of(carrier));
    chunk_of(carrier)->count_in(&free_orders_);
    if (carrier->in_use == 0 && spare_chunk_ == nullptr) spare_chunk_ = chunk_of(carrier);
  }
}

void SmallCache::remove(Carrier* carrier) noexcept {
  carriers_.remove(carrier);
  ClassCounts& counts = counts_of(*carrier);
  --counts.carriers;
  counts.bytes -= carrier->bytes;
  counts.live -= carrier->live;
  counts.live_bytes -= carrier->live_bytes;
  lent_ -= away_bytes(*carrier);  // nothing of it is parked
  if (is_slab(carrier)) {
    counts.slots -= page_of(carrier)->count();
    if (carrier->listed) unlink(carrier);
    std::replace(spare_pages_.begin(), spare_pages_.end(), carrier, static_cast<Carrier*>(nullptr));
  } else {
    chunks_.erase(chunk_of(carrier));
    chunk_of(carrier)->count_in(nullptr);
    if (spare_chunk_ == carrier) spare_chunk_ = nullptr;
  }
  if (carrier->queued) unqueue(carrier);
  note_pending(-static_cast<std::int64_t>(carrier->pending));
}

Carrier* SmallCache::with_room(ClassKey key) const noexcept {
  if (key < kSlabClasses) return partial_[key];
  return chunks_.lowest(key - kSlabClasses);
}

Carrier* SmallCache::any_empty() const noexcept {
  for (Carrier* carrier : carriers_) {
    if (carrier->in_use == 0) return carrier;
  }
  return nullptr;
}

bool SmallCache::take_foreign(ClassKey key, Foreign* foreign) noexcept {
  if (foreign_[key].empty()) return false;
  *foreign = foreign_[key].pop_back();
  --foreign_count_;
  foreign_bytes_ -= foreign->bytes;
  note_pending(-static_cast<std::int64_t>(foreign->bytes));
  return true;
}

void SmallCache::add_foreign(ClassKey key, const Foreign& foreign) {
  foreign_[key].push(foreign);
  ++foreign_count_;
  foreign_bytes_ += foreign.bytes;
  note_pending(static_cast<std::int64_t>(foreign.bytes));
}

std::size_t SmallCache::complete(Point passed, std::span<Foreign> home) noexcept {
  while (queue_head_ != nullptr && queue_head_->last_point <= passed) {
    Carrier* carrier = queue_head_;
    unqueue(carrier);
    note_pending(-static_cast<std::int64_t>(carrier->pending));
    carrier->complete();
  }
  std::size_t count = 0;
  if (foreign_count_ == 0) return count;
  for (Ring<Foreign>& ring : foreign_) {
    while (count < home.size() && !ring.empty() && ring.front().point <= passed) {
      home[count] = ring.pop_front();
      --foreign_count_;
      foreign_bytes_ -= home[count].bytes;
      note_pending(-static_cast<std::int64_t>(home[count++].bytes));
    }
  }
  return count;
}

std::uint64_t SmallCache::stranded() const noexcept {
  std::uint64_t bytes = counts_[kSlabClasses].bytes + foreign_bytes_;
  std::uint64_t live = counts_[kSlabClasses].live_bytes;
  for (unsigned i = 0; i < kSlabClasses; ++i) {
    bytes += counts_[i].slots * slab_bytes(i);
    live += counts_[i].live_bytes;
  }
  // What is parked is pending, but not free.
  return bytes - live - lent_ - pending_;
}

void SmallCache::requeue(Carrier* carrier, Point point) noexcept {
  if (carrier->queued) unqueue(carrier);
  carrier->last_point = point;
  carrier->queue_previous = queue_tail_;
  carrier->queue_next = nullptr;
  (queue_tail_ == nullptr ? queue_head_ : queue_tail_->queue_next) = carrier;
  queue_tail_ = carrier;
  carrier->queued = true;
}

void SmallCache::unqueue(Carrier* carrier) noexcept {
  (carrier->queue_previous == nullptr ? queue_head_ : carrier->queue_previous->queue_next) =
      carrier->queue_next;
  (carrier->queue_next == nullptr ? queue_tail_ : carrier->queue_next->queue_previous) =
      carrier->queue_previous;
  carrier->queue_previous = carrier->queue_next = nullptr;
  carrier->queued = false;
}

std::string SmallCache::validate() const {
  std::array<ClassCounts, kSlabClasses + 1> counts{};
  std::array<std::uint64_t, kMaxOrders> free_orders{};
  std::uint64_t pending = 0, stranded = 0;
  std::size_t queued = 0, listed = 0;
  std::size_t known = 0;
  for (const Carrier* carrier : carriers_) {
    if (++known > carriers_.size()) return "cache: more carriers than were counted";
    const Carrier* after = carrier->list_next;
    if (after != nullptr && after->list_previous != carrier) {
      return "cache: a carrier does not know its place";
    }
    if (std::string lie = carrier->validate(); !lie.empty()) return lie;
    pending += carrier->pending;
    stranded += free_bytes(*carrier) - carrier->pending;
    queued += carrier->queued ? 1 : 0;
    if (carrier->pending > 0 && !carrier->queued) return "cache: something pending is not queued";
    const bool slab = is_slab(carrier);
    ClassCounts& of =
        counts[slab ? static_cast<const SlabPage*>(carrier)->class_index() : kSlabClasses];
    ++of.carriers;
    of.bytes += carrier->bytes;
    of.live += carrier->live;
    of.live_bytes += carrier->live_bytes;
    if (slab) {
      const auto* page = static_cast<const SlabPage*>(carrier);
      of.slots += page->count();
      listed += page->listed ? 1 : 0;
      if (page->listed == page->full()) return "cache: a page is listed wrongly";
    } else {
      const auto* chunk = static_cast<const BuddyChunk*>(carrier);
      for (unsigned o = 0; o < kMaxOrders; ++o) free_orders[o] += chunk->free_blocks(o);
    }
  }
  if (free_orders != free_orders_) return "cache: free buddy blocks differ from their count";
  for (std::size_t i = 0; i <= kSlabClasses; ++i) {
    if (counts[i].carriers != counts_[i].carriers || counts[i].slots != counts_[i].slots ||
        counts[i].live != counts_[i].live || counts[i].live_bytes != counts_[i].live_bytes ||
        counts[i].bytes != counts_[i].bytes) {
      return "cache: the counts of class " + std::to_string(i) + " are wrong";
    }
  }
  for (const Carrier* head : partial_) {
    for (const Carrier* page = head; page != nullptr; page = page->next) {
      if (!page->listed || listed-- == 0) return "cache: a list holds a page too many";
    }
  }
  if (listed != 0) return "cache: a page is missing from its list";
  Point point = 0;
  for (const Carrier* carrier = queue_head_; carrier != nullptr; carrier = carrier->queue_next) {
    if (carrier->last_point < point || queued-- == 0) return "cache: the queue is out of order";
    point = carrier->last_point;
  }
  if (queued != 0) return "cache: a carrier is missing from the queue";
  std::size_t foreign = 0;
  for (const Ring<Foreign>& ring : foreign_) {
    for (std::size_t i = 0; i < ring.size(); ++i) pending += ring.at(i).bytes;
    foreign += ring.size();
  }
  unsigned parked = 0;
  for (const Parked& one : parked_) {
    if (!one.block) continue;
    ++parked;
    const Carrier* carrier = one.block.carrier;
    if (!carriers_.has(carrier)) {
      return "cache: a parked block lies in a carrier of another cache";
    }
    if (carrier->slot(one.block.index).state != SlotState::away) {
      return "cache: a parked block is not away";
    }
    pending += block_bytes(*one.block.carrier, one.block.index);
  }
  if (parked != parked_count_) return "cache: parked blocks differ from their count";
  if (foreign != foreign_count_) return "cache: foreign blocks differ from their count";
  if (stranded != this->stranded()) return "cache: stranded bytes differ from their count";
  if (pending != pending_) return "cache: pending bytes differ from their count";
  if (!chunks_.validate()) return "cache: the tree of chunks is out of order";
  if (spare_chunk_ != nullptr && spare_chunk_->in_use != 0) return "cache: the spare is in use";
  return {};
}

}  // namespace forebay::pool
