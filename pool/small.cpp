// Small blocks: from the stream's own carriers, or from a new carrier that the ladder finds.
#include <algorithm>

#include "pool/hit_path.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

namespace {

// The class of a carrier's blocks; a buddy's by its order.
ClassKey class_of(const Carrier& carrier, unsigned order) noexcept {
  return static_cast<ClassKey>(carrier.kind == Carrier::Kind::slab
                                   ? static_cast<const SlabPage&>(carrier).class_index()
                                   : kSlabClasses + order);
}

}  // namespace

// Locks the stream that owns a carrier now; empty if the carrier is nobody's.
StateLock Pool::Impl::lock_owner(const Carrier& carrier, StreamState** owner) {
  while (true) {
    *owner = carrier.owner.load(std::memory_order_acquire);
    if (*owner == nullptr) return {};
    StateLock lock((*owner)->mutex);
    if (carrier.owner.load(std::memory_order_relaxed) == *owner) return lock;
  }
}

// Null: nothing there, or the state does not stand for the stream any more.
void* Pool::Impl::take_small(ClassKey key, const Request& request, StreamState& state,
                             StreamId stream, Rung rung) {
  SmallCache::Foreign foreign;
  {
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream)) return nullptr;
    if (void* block = HitPath::take(*this, key, request.bytes, request.tag, state, rung)) {
      return block;
    }
    if (!state.cache.take_foreign(key, &foreign)) return nullptr;
    account_in(state, request.bytes, router_.block_bytes(key), rung);
  }
  // A block of another's carrier that this stream freed.
  StreamState* owner = nullptr;
  const auto lock = lock_owner(*foreign.carrier, &owner);
  if (owner == nullptr) return nullptr;  // the pool was closed meanwhile
  const SmallCache::Block block{foreign.carrier, foreign.index};
  owner->cache.occupy_lent(block, &state, request.bytes, request.tag);
  return reinterpret_cast<void*>(foreign.carrier->address_of(foreign.index));
}

void* Pool::Impl::allocate_small(ClassKey key, const Request& request, StreamState& state,
                                 StreamId stream) {
  if (void* block = take_small(key, request, state, stream, Rung::cache)) return block;
  {
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream)) return nullptr;
  }
  Request carrier = request;
  carrier.span = SizeRouter::carrier_bytes(key);
  carrier.alignment = kCarrierAlignment;
  carrier.low = true;
  void* block = nullptr;
  // A carrier from the rungs that disturb nobody.
  const auto carve = [&](ExtentId id, Rung rung) {
    if (id == kNoExtent) return false;
    block = open_carrier(key, id, state, stream) ? take_small(key, request, state, stream, rung)
                                                 : nullptr;
    return true;
  };
  Climb climb(*this);
  if (unpark(state)) {
    block = take_small(key, request, state, stream, Rung::cache);
    if (block != nullptr) return block;
  }
  if (carve(search(carrier, state), Rung::cache)) return block;
  const bool found = climb.rung(Rung::completed, [&] {
    if (!poll_everybody()) return false;
    block = take_small(key, request, state, stream, Rung::completed);
    return block != nullptr || carve(search(carrier, state), Rung::completed);
  });
  const auto growing = [&](Growth how) {
    Rung rung = how == Growth::map ? Rung::map : Rung::remap;
    return climb.rung(
        rung, [&] { return carve(grow(carrier, state, how, config_.soft_limit, &rung), rung); });
  };
  // Another stream's carrier, whose blocks stay where they are.
  const bool capture = state.keeps.load(std::memory_order_relaxed);
  const auto adopting = [&] {
    return !capture && climb.rung(Rung::steal, [&] {
      Rung rung = Rung::steal;
      if (!adopt(key, state, &rung)) return false;
      block = take_small(key, request, state, stream, rung);
      return block != nullptr;
    });
  };
  if (found || (moves_first() && growing(Growth::move))) return block;
  for (const LadderRung rung : config_.ladder) {
    if (rung == LadderRung::map && growing(Growth::map)) return block;
    if (rung == LadderRung::steal && adopting()) return block;
  }
  // No room for a carrier anywhere: a span for the block alone.
  return allocate_span(request, state, stream);
}

// Makes a used extent a carrier of the stream. False if the stream was retired meanwhile.
bool Pool::Impl::open_carrier(ClassKey key, ExtentId id, StreamState& state, StreamId stream) {
  const std::lock_guard lock(state.mutex);
  const std::lock_guard engine_lock(engine_mutex_);
  if (closed()) throw ClosedError("pool: closed during an allocation");
  if (!serves(state, stream)) {
    engine_.free(id, stamp_of_free(state));
    return false;
  }
  Carrier* carrier = nullptr;
  try {
    carrier = unused_carrier(key);
    set_up(*carrier, key, id, state);
  } catch (...) {
    const SpanEngine::Extent& extent = engine_.at(id);
    index_.clear_carrier(extent.address, extent.bytes);
    if (carrier != nullptr) unused_carriers_[carrier_room(key)].records.push_back(carrier);
    engine_.free(id, stamp_of_free(state));
    throw;
  }
  carrier->owner.store(&state, std::memory_order_release);
  return true;
}

// A record that no carrier uses. REQUIRES: the engine lock. Throws std::bad_alloc.
Carrier* Pool::Impl::unused_carrier(ClassKey key) {
  UnusedCarriers& unused = unused_carriers_[carrier_room(key)];
  if (unused.records.empty()) {
    // Room for all of them, so that giving one back never allocates.
    if (unused.records.capacity() <= unused.made) unused.records.reserve(2 * unused.made + 8);
    unused.records.push_back(key < kSlabClasses
                                 ? static_cast<Carrier*>(&pages_.emplace_back(&records_))
                                 : &chunks_.emplace_back(&records_));
    ++unused.made;
  }
  Carrier* carrier = unused.records.back();
  unused.records.pop_back();
  return carrier;
}

// REQUIRES: the stream's mutex and the engine lock. Throws std::bad_alloc.
void Pool::Impl::set_up(Carrier& carrier, ClassKey key, ExtentId id, StreamState& state) {
  const Address address = engine_.at(id).address;
  if (carrier.kind == Carrier::Kind::slab) {
    static_cast<SlabPage&>(carrier).open(address, id, key);
  } else {
    static_cast<BuddyChunk&>(carrier).open(address, id, router_.leaf_bytes());
  }
  // Memory that was not everybody's is ordered for this stream alone.
  if (!engine_.at(id).clean) {
    carrier.suspend();
    carrier.last_point = state.keeps ? kNever : state.next_point;
    ++state.uncovered;
  }
  index_.set_carrier(address, carrier.bytes, &carrier);
  state.cache.add(&carrier);
}

// An empty carrier becomes a free range. REQUIRES: the owner's mutex. True if that left a handle
// wholly idle.
bool Pool::Impl::close_carrier(Carrier* carrier, StreamState& owner) {
  const std::lock_guard engine_lock(engine_mutex_);
  const Stamp stamp = owner.keeps            ? Stamp{owner.owner, kNever}
                      : carrier->pending > 0 ? Stamp{owner.owner, carrier->last_point}
                                             : Stamp{};
  owner.wanted |= stamp.owner == owner.owner;
  owner.cache.remove(carrier);
  carrier->owner.store(nullptr, std::memory_order_release);
  index_.clear_carrier(carrier->address, carrier->bytes);
  unused_carriers_[carrier_room(class_of(*carrier, 0))].records.push_back(carrier);
  return free_range(carrier->extent, stamp);
}

// Moves a carrier with room from another stream to this one; its free blocks follow once this
// stream is ordered after their frees.
bool Pool::Impl::adopt(ClassKey key, StreamState& state, Rung* rung) {
  for (StreamState* other : open_states()) {
    if (other == &state || other->keeps) continue;
    Carrier* carrier = nullptr;
    Point point = 0;
    {
      const std::lock_guard lock(other->mutex);
      carrier = other->cache.with_room(key);
      if (carrier == nullptr || other->cache.parks_in(carrier)) continue;
      point = carrier->pending > 0 ? carrier->last_point : 0;
    }
    if (point > 0 && !clockwork_.await(state, *other, point)) continue;
    const bool first = state.owner < other->owner;
    const std::lock_guard lower(first ? state.mutex : other->mutex);
    const std::lock_guard upper(first ? other->mutex : state.mutex);
    // Looked at again: meanwhile it may have been filled, emptied or freed in.
    if (other->cache.with_room(key) != carrier || other->cache.parks_in(carrier) || !state.open ||
        (carrier->pending > 0 && carrier->last_point > point)) {
      continue;
    }
    other->cache.remove(carrier);
    if (carrier->pending > 0) {
      // Only this stream is ordered after those frees: from now on they wait for its own points.
      carrier->last_point = state.next_point;
      ++state.uncovered;
    }
    state.cache.add(carrier);
    carrier->owner.store(&state, std::memory_order_release);
    if (point == 0) *rung = Rung::completed;
    return true;
  }
  return false;
}

// Frees -------------------------------------------------------------------------------------------

// Finds the live block at an address in a carrier. REQUIRES: the mutex of its owner, if it has one.
Misuse Pool::Impl::find_small(Carrier& carrier, const StreamState* owner, Address address,
                              std::size_t bytes, Carrier::Place* place, bool* again) const {
  if (closed()) return Misuse::pool_closed;
  // The record may stand for other memory by now.
  if (owner == nullptr || address - carrier.address >= carrier.bytes) {
    *again = true;
    return Misuse::none;
  }
  *place = carrier.locate(address);
  if (place->slot == nullptr || place->slot->state != SlotState::live) return Misuse::double_free;
  if (!place->exact) return Misuse::interior_pointer;
  return bytes != 0 && bytes != place->slot->requested ? Misuse::size_mismatch : Misuse::none;
}

// A free on another stream than the carrier's or the block's own, or one that others wait for too.
Misuse Pool::Impl::release_small(Carrier* carrier, Address address, StreamState& state,
                                 StreamId stream, std::size_t bytes, bool* again) {
  StreamState* owner = nullptr;
  StreamState* user = nullptr;
  const char* tag = nullptr;
  SmallCache::Block block{carrier, 0};
  std::size_t requested = 0, allocated = 0;
  ClassKey key = 0;
  bool record = false;
  DeferredFrees::Blocks waits;
  enum class Way { own, foreign, deferred } way = Way::own;
  {
    const StateLock lock = lock_owner(*carrier, &owner);
    if (owner == &state && !serves(state, stream)) {
      *again = true;
      return Misuse::none;
    }
    Carrier::Place place;
    const Misuse misuse = find_small(*carrier, owner, address, bytes, &place, again);
    if (misuse != Misuse::none || *again) return misuse;
    const Slot& slot = *place.slot;
    block.index = place.index;
    user = slot.user;
    tag = slot.tag;
    requested = slot.requested;
    key = class_of(*carrier, slot.order);
    allocated = router_.block_bytes(key);
    const bool keeps = owner->keeps.load(std::memory_order_relaxed);
    if (slot.shared || (keeps && owner->stream != stream)) {
      way = Way::deferred;
      const std::lock_guard engine_lock(engine_mutex_);
      waits = take_uses(address, slot.shared, *owner);
    } else if (owner != &state && !keeps) {
      way = Way::foreign;
    }
    if (way != Way::own) {
      owner->cache.lend(block);
    } else {
      owner->cache.vacate(block);
      Carrier* empty = owner->cache.give(block, true, keeps ? kNever : owner->next_point);
      const bool idle = empty != nullptr && close_carrier(empty, *owner);
      // An arena's frees need no point, and it is not this stream's counters that are locked then.
      if (owner == &state && !keeps) {
        ++state.uncovered;
        record = point_due(state, idle);
      }
    }
  }
  if (way == Way::foreign) {
    StateLock lock(state.mutex);
    if (!state.open) return Misuse::none;  // the pool was closed meanwhile
    try {
      state.cache.add_foreign(
          key, {carrier, block.index, state.next_point, static_cast<std::uint32_t>(allocated)});
    } catch (...) {
      lock.unlock();
      const StateLock again_lock = lock_owner(*carrier, &owner);
      if (owner != nullptr) owner->cache.occupy_lent(block, user, requested, tag);
      throw;
    }
    ++state.uncovered;
    record = point_due(state, false);
  } else if (way == Way::deferred) {
    Deferred& one = waits.front();
    one.small = block;
    one.bytes = allocated;
    one.freed_on = &state;
    one.user = user;
    defer(std::move(waits));
  }
  // Last, so that `user` is not closed before.
  account_foreign(state, *user, requested, allocated);
  if (record) record_point(state);
  return Misuse::none;
}

// A block that is away goes back to the carrier that it belongs to, free for everybody.
void Pool::Impl::send_home(const SmallCache::Block& block) {
  StreamState* owner = nullptr;
  const auto lock = lock_owner(*block.carrier, &owner);
  if (owner == nullptr) return;  // the pool was closed meanwhile
  if (Carrier* empty = owner->cache.give_lent(block)) close_carrier(empty, *owner);
}

// Parked blocks join their neighbours; whether that left a handle wholly idle. REQUIRES: the
// stream's mutex.
bool Pool::Impl::unpark_small(StreamState& state) {
  const Point passed = state.passed.load(std::memory_order_acquire);
  bool idle = false;
  state.cache.unpark([&](const SmallCache::Block& block, Point point) {
    const bool waits = point > passed;
    state.wanted |= waits;
    Carrier* empty = state.cache.give(block, waits, point);
    if (empty != nullptr) idle |= close_carrier(empty, state);
  });
  return idle;
}

// Gives back what a stream keeps for its next allocations: parked spans and empty carriers.
bool Pool::Impl::drop_spares(StreamState& state) {
  bool any = unpark(state);
  const std::lock_guard lock(state.mutex);
  while (Carrier* empty = state.cache.any_empty()) {
    close_carrier(empty, state);
    any = true;
  }
  return any;
}

}  // namespace forebay::pool
