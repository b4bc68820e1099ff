#include "pool/span_engine.hpp"

#include <algorithm>
#include <utility>

namespace forebay::pool {

SpanEngine::SpanEngine(std::size_t cell) : cell_(cell) {
  extents_end_ = 1;
  extents_.push_back(std::make_unique<Extent[]>(kChunk));
  open_owner(kEverybody);
}

void SpanEngine::clear() noexcept {
  extents_.resize(1);
  extents_end_ = 1;
  unused_ = 0;
  unused_count_ = 0;
  islands_.clear();
  owners_.resize(1);
  *owners_[kEverybody] = {};
  holes_ = {};
  counts_ = {};
  free_by_log2_ = {};
}

void SpanEngine::open_owner(Owner owner) {
  if (owner >= owners_.size()) owners_.resize(owner + 1);
  if (!owners_[owner]) owners_[owner] = std::make_unique<OwnerState>();
}

// Records ----------------------------------------------------------------------------------------

void SpanEngine::reserve(std::size_t extents) {
  while (unused_count_ + extents_.size() * kChunk - extents_end_ < extents + spare_) {
    extents_.push_back(std::make_unique<Extent[]>(kChunk));
  }
}

ExtentId SpanEngine::new_extent() noexcept {
  ExtentId id = unused_;
  if (id != 0) {
    unused_ = at(id).next;
    --unused_count_;
  } else {
    id = extents_end_++;
  }
  at(id) = Extent{};
  ++counts_.extents;
  return id;
}

void SpanEngine::drop(ExtentId id) {
  Extent& extent = at(id);
  if (extent.previous != 0) at(extent.previous).next = extent.next;
  if (extent.next != 0) at(extent.next).previous = extent.previous;
  extent.bytes = 0;
  extent.next = unused_;
  unused_ = id;
  ++unused_count_;
  --counts_.extents;
}

ExtentId SpanEngine::insert_after(ExtentId id, Address address, std::size_t bytes) {
  const ExtentId added = new_extent();
  Extent& extent = at(added);
  extent.address = address;
  extent.bytes = bytes;
  extent.previous = id;
  extent.next = at(id).next;
  if (extent.next != 0) at(extent.next).previous = added;
  at(id).next = added;
  return added;
}

// Bins and queues --------------------------------------------------------------------------------

Bins& SpanEngine::bins_of(const Extent& extent) {
  return extent.state == ExtentState::hole ? holes_ : owners_[extent.stamp.owner]->bins;
}

void SpanEngine::link_bin(ExtentId id) {
  Extent& extent = at(id);
  Bins& bins = bins_of(extent);
  const unsigned bin = BinScale::of(extent.bytes / kUnit);
  extent.bin_previous = 0;
  extent.bin_next = bins.head(bin);
  if (extent.bin_next != 0) at(extent.bin_next).bin_previous = id;
  bins.set_head(bin, id);
}

void SpanEngine::unlink_bin(ExtentId id) {
  Extent& extent = at(id);
  if (extent.bin_next != 0) at(extent.bin_next).bin_previous = extent.bin_previous;
  if (extent.bin_previous != 0) {
    at(extent.bin_previous).bin_next = extent.bin_next;
  } else {
    bins_of(extent).set_head(BinScale::of(extent.bytes / kUnit), extent.bin_next);
  }
}

void SpanEngine::link_queue(ExtentId id, ExtentId after) {
  Extent& extent = at(id);
  OwnerState& owner = *owners_[extent.stamp.owner];
  extent.queue_previous = after;
  extent.queue_next = after == 0 ? owner.queue_head : at(after).queue_next;
  (extent.queue_next == 0 ? owner.queue_tail : at(extent.queue_next).queue_previous) = id;
  (after == 0 ? owner.queue_head : at(after).queue_next) = id;
}

void SpanEngine::unlink_queue(ExtentId id) {
  const Extent& extent = at(id);
  OwnerState& owner = *owners_[extent.stamp.owner];
  (extent.queue_next == 0 ? owner.queue_tail : at(extent.queue_next).queue_previous) =
      extent.queue_previous;
  (extent.queue_previous == 0 ? owner.queue_head : at(extent.queue_previous).queue_next) =
      extent.queue_next;
}

void SpanEngine::enlist(ExtentId id, ExtentId queue_after) {
  Extent& extent = at(id);
  link_bin(id);
  owners_[extent.stamp.owner]->bytes += extent.bytes;
  ++owners_[extent.stamp.owner]->ranges;
  if (extent.stamp.owner == kEverybody) {
    counts_.free += extent.bytes;
    SizeCount& count = free_by_log2_[log2_floor(extent.bytes)];
    ++count.ranges;
    count.bytes += extent.bytes;
  } else {
    counts_.pending += extent.bytes;
    link_queue(id, queue_after);
  }
}

void SpanEngine::delist(ExtentId id) {
  Extent& extent = at(id);
  unlink_bin(id);
  owners_[extent.stamp.owner]->bytes -= extent.bytes;
  --owners_[extent.stamp.owner]->ranges;
  if (extent.stamp.owner == kEverybody) {
    counts_.free -= extent.bytes;
    SizeCount& count = free_by_log2_[log2_floor(extent.bytes)];
    --count.ranges;
    count.bytes -= extent.bytes;
  } else {
    counts_.pending -= extent.bytes;
    unlink_queue(id);
  }
}

// Islands ----------------------------------------------------------------------------------------

void SpanEngine::keep_spare(std::size_t extents) {
  const std::size_t before = std::exchange(spare_, kSpare + extents);
  try {
    reserve(0);
  } catch (...) {
    spare_ = before;
    throw;
  }
}

void SpanEngine::reserve_island() {
  if (islands_.size() == islands_.capacity()) islands_.reserve(2 * islands_.size() + 8);
  reserve(1);
}

void SpanEngine::need_record() {
  if (unused_count_ == 0 && extents_end_ == extents_.size() * kChunk) reserve(1);
}

ExtentId SpanEngine::add_island(Address address, std::size_t bytes, bool hole) {
  need_record();
  const ExtentId id = new_extent();
  Extent& extent = at(id);
  extent.address = address;
  extent.bytes = bytes;
  if (hole) {
    extent.state = ExtentState::hole;
    counts_.holes += bytes;
    link_bin(id);
  } else {
    extent.state = ExtentState::free;
    enlist(id, 0);
  }
  islands_.push_back(id);
  return id;
}

void SpanEngine::remove_island(ExtentId id) {
  Extent& extent = at(id);
  if (extent.state == ExtentState::free) {
    delist(id);
  } else if (extent.state == ExtentState::hole) {
    counts_.holes -= extent.bytes;
    unlink_bin(id);
  } else {
    counts_.used -= extent.bytes;
  }
  islands_.erase(std::find(islands_.begin(), islands_.end(), id));
  drop(id);
}

void SpanEngine::pieces(const Fit& fit, std::size_t bytes, std::vector<Piece>& out) const {
  const Address end = fit.address + bytes;
  for (ExtentId id = fit.first; id != 0 && at(id).address < end; id = at(id).next) {
    const Address begin = std::max(at(id).address, fit.address);
    out.push_back({begin, std::min(at(id).end(), end) - begin, at(id).stamp});
  }
}

// Commits ----------------------------------------------------------------------------------------

ExtentId SpanEngine::take(const Fit& fit, std::size_t bytes) {
  reserve(2);
  const Address end = fit.address + bytes;
  ExtentId used = fit.first;
  ExtentId queue_after = at(used).queue_previous;
  Stamp stamp = at(used).stamp;
  Point since = at(used).since;
  bool clean = stamp.owner == kEverybody;
  delist(used);
  if (at(used).address < fit.address) {
    const ExtentId front = used;
    used = insert_after(front, fit.address, at(front).end() - fit.address);
    at(front).bytes = fit.address - at(front).address;
    enlist(front, queue_after);
    queue_after = stamp.owner == kEverybody ? 0 : front;
  }
  while (at(used).end() < end) {
    const ExtentId next = at(used).next;
    queue_after = at(next).queue_previous;
    stamp = at(next).stamp;
    since = at(next).since;
    clean = clean && stamp.owner == kEverybody;
    delist(next);
    at(used).bytes += at(next).bytes;
    drop(next);
  }
  if (at(used).end() > end) {
    const ExtentId back = insert_after(used, end, at(used).end() - end);
    at(used).bytes = bytes;
    at(back).state = ExtentState::free;
    at(back).stamp = stamp;
    at(back).since = since;
    enlist(back, queue_after);
  }
  Extent& extent = at(used);
  extent.state = ExtentState::used;
  extent.stamp = {};
  extent.clean = clean;
  extent.block = false;
  counts_.used += bytes;
  return used;
}

bool SpanEngine::join(ExtentId id, ExtentId other) {
  if (other == 0 || at(other).state != ExtentState::free) return false;
  Extent& here = at(id);
  const Extent& there = at(other);
  if (here.stamp.owner != there.stamp.owner) return false;
  const bool later = there.stamp.point > here.stamp.point;
  const Extent& older = later ? here : there;
  const Point point = std::max(here.stamp.point, there.stamp.point);
  Point since = std::min(here.since, there.since);
  if (here.stamp.point != there.stamp.point) {
    if (point == kNever) return false;
    if (older.bytes < cell_) {
      since = (later ? there : here).since;
    } else if (point - older.since > kHeldBack) {
      return false;
    }
  }
  delist(other);
  here.stamp.point = point;
  here.since = since;
  return true;
}

ExtentId SpanEngine::settle(ExtentId id) {
  // A join may change the stamp, and then the other side joins too.
  for (bool joined = true; joined;) {
    joined = false;
    if (const ExtentId next = at(id).next; join(id, next)) {
      at(id).bytes += at(next).bytes;
      drop(next);
      joined = true;
    }
    if (const ExtentId previous = at(id).previous; join(id, previous)) {
      at(previous).bytes += at(id).bytes;
      at(previous).stamp = at(id).stamp;
      at(previous).since = at(id).since;
      drop(id);
      id = previous;
      joined = true;
    }
  }
  // Behind all that waits no longer: at the end, but for what is put back or was kept for a while.
  ExtentId after = owners_[at(id).stamp.owner]->queue_tail;
  while (after != 0 && at(after).stamp.point > at(id).stamp.point) after = at(after).queue_previous;
  enlist(id, after);
  return id;
}

ExtentId SpanEngine::free(ExtentId id, Stamp stamp) {
  Extent& extent = at(id);
  counts_.used -= extent.bytes;
  extent.state = ExtentState::free;
  extent.stamp = stamp;
  extent.since = stamp.point;
  extent.block = false;
  return settle(id);
}

ExtentId SpanEngine::put_back(ExtentId id, const std::vector<Piece>& pieces) {
  ExtentId first = kNoExtent;
  for (const Piece& piece : pieces) {
    const ExtentId rest = split(id, piece.bytes);
    const ExtentId covering = free(id, piece.stamp);
    if (first == kNoExtent) first = covering;
    id = rest;
  }
  return first;
}

ExtentId SpanEngine::put_back(const Part& part) {
  if (!part.pieces.empty()) return put_back(part.id, part.pieces);
  make_hole(part.id);
  return kNoExtent;
}

ExtentId SpanEngine::split(ExtentId id, std::size_t bytes) {
  if (at(id).bytes == bytes) return kNoExtent;
  need_record();
  const ExtentId rest = insert_after(id, at(id).address + bytes, at(id).bytes - bytes);
  at(id).bytes = bytes;
  return rest;
}

void SpanEngine::complete(Owner owner, Point passed) {
  if (find_owner(owner) == nullptr) return;
  OwnerState& state = *owners_[owner];
  while (state.queue_head != 0 && at(state.queue_head).stamp.point <= passed) {
    const ExtentId id = state.queue_head;
    delist(id);
    at(id).stamp = {};
    at(id).since = 0;
    settle(id);
  }
}

void SpanEngine::restamp(Owner from, Stamp stamp) {
  // Detached first, into a chain of their own: with the same owner the queue would never empty.
  ExtentId first = 0, last = 0;
  while (owners_[from]->queue_head != 0) {
    const ExtentId id = owners_[from]->queue_head;
    delist(id);
    at(id).stamp = stamp;
    at(id).since = stamp.point;
    at(id).state = ExtentState::used;  // so that no neighbour joins it before its turn
    at(id).queue_next = 0;
    (last == 0 ? first : at(last).queue_next) = id;
    last = id;
  }
  while (first != 0) {
    const ExtentId id = first;
    first = at(id).queue_next;
    at(id).state = ExtentState::free;
    settle(id);
  }
}

ExtentId SpanEngine::take_hole(ExtentId hole, Address address, std::size_t bytes) {
  reserve(2);
  unlink_bin(hole);
  counts_.holes -= bytes;
  counts_.used += bytes;
  const auto cut = [this](ExtentId id, Address at_address) {
    return insert_after(id, at_address, at(id).end() - at_address);
  };
  ExtentId part = hole;
  if (address + bytes < at(hole).end()) {
    const ExtentId rest = cut(hole, address + bytes);
    at(hole).bytes = address + bytes - at(hole).address;
    at(rest).state = ExtentState::hole;
    link_bin(rest);
  }
  if (address > at(hole).address) {
    part = cut(hole, address);
    at(hole).bytes = address - at(hole).address;
    link_bin(hole);
  }
  at(part).state = ExtentState::used;
  at(part).stamp = {};
  return part;
}

void SpanEngine::make_hole(ExtentId id) {
  counts_.used -= at(id).bytes;
  counts_.holes += at(id).bytes;
  at(id).state = ExtentState::hole;
  at(id).block = false;
  const auto is_hole = [this](ExtentId other) {
    return other != 0 && at(other).state == ExtentState::hole;
  };
  if (const ExtentId next = at(id).next; is_hole(next)) {
    unlink_bin(next);
    at(id).bytes += at(next).bytes;
    drop(next);
  }
  if (const ExtentId previous = at(id).previous; is_hole(previous)) {
    unlink_bin(previous);
    at(previous).bytes += at(id).bytes;
    drop(id);
    id = previous;
  }
  link_bin(id);
}

// Reports ----------------------------------------------------------------------------------------

std::uint64_t SpanEngine::pending(Owner owner) const noexcept {
  const OwnerState* state = find_owner(owner);
  return state == nullptr || owner == kEverybody ? 0 : state->bytes;
}

Point SpanEngine::oldest_point(Owner owner) const noexcept {
  const OwnerState* state = find_owner(owner);
  return state == nullptr || state->queue_head == 0 ? kNever : at(state->queue_head).stamp.point;
}

std::uint64_t SpanEngine::largest_free() const noexcept {
  const Bins& bins = owners_[kEverybody]->bins;
  std::uint64_t largest = 0;
  const unsigned bin = bins.last();
  if (bin == BinScale::kBins) return 0;
  for (ExtentId id = bins.head(bin); id != 0; id = at(id).bin_next) {
    largest = std::max<std::uint64_t>(largest, at(id).bytes);
  }
  return largest;
}

std::size_t SpanEngine::metadata_bytes() const noexcept {
  std::size_t owners = 0;
  for (const auto& owner : owners_) owners += owner ? sizeof(OwnerState) : 0;
  return extents_.size() * kChunk * sizeof(Extent) + owners + sizeof *this +
         islands_.capacity() * sizeof(ExtentId);
}

}  // namespace forebay::pool
