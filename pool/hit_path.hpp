// What nearly every call does, under the lock of its stream: a block from what the stream has, or
// back into it. Shared by the calls themselves and by the ways that they take otherwise.
#pragma once

#include "pool/pool_impl.hpp"

namespace forebay::pool {

/// Members of the pool's inside that have to be inlined where they are used.
struct Pool::Impl::HitPath {
  /// A block of `key` for the stream, live; null if its carriers have none. REQUIRES: the stream's
  /// mutex.
  [[gnu::always_inline]] static void* take(Impl& pool, ClassKey key, std::size_t bytes,
                                           const char* tag, StreamState& state, Rung rung) {
    const SmallCache::Block block = state.cache.take(key);
    if (!block) return nullptr;
    state.cache.occupy(block, &state, bytes, tag);
    pool.account_in(state, bytes, SmallCache::block_bytes(*block.carrier, block.index), rung);
    return reinterpret_cast<void*>(block.carrier->address_of(block.index));
  }

  /// A span that the stream parked, live; null if none has exactly that size. REQUIRES: the
  /// stream's mutex.
  [[gnu::always_inline]] static void* unpark(Impl& pool, std::size_t bytes, std::size_t span,
                                             std::size_t alignment, const char* tag,
                                             StreamState& state, Rung rung = Rung::cache) {
    const ExtentId id = state.spans.take(span, alignment);
    if (id == kNoExtent) return nullptr;
    return pool.hand_out(pool.blocks_.at(id), bytes, tag, state, rung);
  }

  enum class Given : std::uint8_t { no, yes, point_due };

  /// Frees a live block of the stream's own; `no` if anything about it is unusual, and nothing has
  /// happened then. REQUIRES: the stream's mutex.
  [[gnu::always_inline]] static Given give(Impl& pool, Carrier& carrier, Address address,
                                           std::size_t bytes, StreamState& state) {
    if (carrier.owner.load(std::memory_order_relaxed) != &state) return Given::no;
    if (address - carrier.address >= carrier.bytes) return Given::no;  // it stands elsewhere by now
    const Carrier::Place place = carrier.locate(address);
    if (place.slot == nullptr || !place.exact) return Given::no;
    const Slot& slot = *place.slot;
    if (slot.state != SlotState::live || slot.user != &state || slot.shared) return Given::no;
    if (bytes != 0 && bytes != slot.requested) return Given::no;
    pool.account_out(state, slot.requested, SmallCache::block_bytes(carrier, place.index));
    const SmallCache::Block block{&carrier, place.index};
    state.cache.vacate(block);
    Carrier* empty = state.cache.park(block, state.next_point);
    const bool idle = empty != nullptr && pool.close_carrier(empty, state);
    ++state.uncovered;
    return pool.point_due(state, idle) ? Given::point_due : Given::yes;
  }

  /// The same for a span, which is parked.
  [[gnu::always_inline]] static Given park(Impl& pool, SpanBlock& block, Address address,
                                           std::size_t bytes, StreamState& state) {
    // With what the stream before wrote, `freed` above all.
    if (block.user.load(std::memory_order_acquire) != &state) return Given::no;
    if (block.address != address || block.shared) return Given::no;
    if (block.freed.load(std::memory_order_relaxed)) return Given::no;
    if (bytes != 0 && bytes != block.requested) return Given::no;
    block.freed.store(true, std::memory_order_relaxed);
    --state.counters.span_blocks;
    state.counters.span_bytes -= block.bytes;
    pool.account_out(state, block.requested, block.bytes);
    ++state.uncovered;
    state.spans.park({block.bytes, address, block.id, state.next_point});
    bool record = false;
    if (state.spans.size() > pool.config_.parked_spans) [[unlikely]] {
      record = pool.park_fewer(state);
    }
    record |= pool.point_due(state, block.bytes >= pool.traits_.granularity);
    if (record) state.span_calls = 0;
    return record ? Given::point_due : Given::yes;
  }
};

}  // namespace forebay::pool
