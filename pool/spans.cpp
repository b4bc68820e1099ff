// Large blocks: spans of their own, from the stream's cache or from the engine.
#include <algorithm>
#include <new>
#include <utility>

#include "pool/hit_path.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

// The block that begins at an address, kNoExtent if none does.
ExtentId Pool::Impl::span_at(Address address) {
  const ExtentId id = index_.lone_span(address);
  if (id != kNoExtent) return id;
  const std::lock_guard engine_lock(engine_mutex_);
  return index_.span(address);
}

// The block that begins at an address, with its user's mutex locked; null, with nothing locked, if
// none does.
SpanBlock* Pool::Impl::lock_span(Address address, StateLock* lock) {
  while (true) {
    const ExtentId id = span_at(address);
    if (id == kNoExtent) return nullptr;
    SpanBlock& block = blocks_.at(id);
    StreamState* user = block.user.load(std::memory_order_acquire);
    if (user == nullptr) continue;  // it goes just now
    *lock = StateLock(user->mutex);
    if (block.user.load(std::memory_order_relaxed) == user && block.address == address) {
      return &block;
    }
    lock->unlock();
  }
}

// Allocating -------------------------------------------------------------------------------------

// Null if it has to be tried again: the state does not stand for the stream any more, or a carrier
// has room for the block.
void* Pool::Impl::allocate_span(const Request& request, StreamState& state, StreamId stream) {
  {
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream)) return nullptr;
    if (void* block = HitPath::unpark(*this, request.bytes, request.span, request.alignment,
                                      request.tag, state)) {
      return block;
    }
  }
  unpark(state);
  // One look at the engine for all of it where that will do, since others want it too.
  const auto settle = [&](ExtentId id, Rung rung) {
    void* block = settle_span(request, id, state, stream, rung);
    if (block != nullptr) stock(request, state);
    return block;
  };
  for (bool ticked = false;; ticked = true) {
    StateLock lock(state.mutex);
    std::unique_lock engine_lock(engine_mutex_);
    if (!ticked && is_scattered(state)) {
      state.span_calls = 0;
      engine_lock.unlock();
      lock.unlock();
      record_point(state);
      continue;
    }
    const ExtentId id = find_and_take(request, state);
    if (id != kNoExtent) return settle(id, Rung::cache);
    break;
  }
  Rung rung = Rung::cache;
  const ExtentId id = obtain(request, state, &rung);
  const std::lock_guard lock(state.mutex);
  if (id == kNoExtent) {
    return !serves(state, stream) ? nullptr
                                  : HitPath::unpark(*this, request.bytes, request.span,
                                                    request.alignment, request.tag, state, rung);
  }
  const std::lock_guard engine_lock(engine_mutex_);
  return settle(id, rung);
}

// A used extent becomes a live block; null if the state does not stand for the stream any more.
// REQUIRES: the stream's mutex and the engine lock.
void* Pool::Impl::settle_span(const Request& request, ExtentId id, StreamState& state,
                              StreamId stream, Rung rung) {
  if (closed()) throw ClosedError("pool: allocate after the pool was closed");
  if (!serves(state, stream)) {
    engine_.free(id, stamp_of_free(state));
    return nullptr;
  }
  SpanBlock& block = make_block(id, state);
  void* pointer = hand_out(block, request.bytes, request.tag, state, rung);
  block.user.store(&state, std::memory_order_release);
  sample_levels();
  return pointer;
}

// A used extent becomes a block, which is nobody's yet. Throws std::bad_alloc; the extent is free
// then. REQUIRES: the stream's mutex and the engine lock.
SpanBlock& Pool::Impl::make_block(ExtentId id, StreamState& state) {
  SpanEngine::Extent& extent = engine_.at(id);
  try {
    blocks_.make(id);
    index_.set_span(extent.address, id);
  } catch (...) {
    engine_.free(id, stamp_of_free(state));
    throw;
  }
  extent.block = true;
  SpanBlock& block = blocks_.at(id);
  block.id = id;
  block.address = extent.address;
  block.bytes = extent.bytes;
  return block;
}

// Where other streams free what this one allocates, its cache would never have anything, and each
// allocation would go to the engine: so it takes as many bytes as others have freed since its last
// miss, half a cache at most. REQUIRES: the stream's mutex and the engine lock.
void Pool::Impl::stock(const Request& request, StreamState& state) noexcept {
  if (request.key != kSpanClass || state.keeps.load(std::memory_order_relaxed)) return;
  const std::uint64_t drained = std::exchange(state.drained, 0);
  try {
    // The first of them is the block that was just allocated.
    for (std::uint64_t taken = 2 * request.span;
         taken <= drained && state.spans.size() < config_.parked_spans / 2; taken += request.span) {
      const ExtentId id = find_and_take(request, state);
      if (id == kNoExtent) break;
      // What was not everybody's is ordered for this stream alone.
      const Point point = engine_.at(id).clean ? 0 : state.next_point;
      SpanBlock& block = make_block(id, state);
      block.requested = block.bytes;
      block.shared = false;
      block.freed.store(true, std::memory_order_relaxed);
      block.user.store(&state, std::memory_order_release);
      state.uncovered += point == 0 ? 0 : 1;
      state.spans.park({block.bytes, block.address, id, point});
    }
  } catch (const std::bad_alloc&) {  // one by one, then
  }
}

// Spans of exactly the size that others have parked and are done with: they move from cache to
// cache, and the engine, which all share, need not know. Whether there were any.
bool Pool::Impl::trade(const Request& request, StreamState& state) {
  if (request.key != kSpanClass || state.keeps.load(std::memory_order_relaxed)) return false;
  const std::size_t bytes = request.span, alignment = request.alignment;
  for (StreamState* other = next_open(0); other != nullptr; other = next_open(other->owner)) {
    if (other == &state || other->keeps.load(std::memory_order_relaxed)) continue;
    {
      const std::lock_guard lock(other->mutex);
      if (!other->spans.has(bytes, alignment)) continue;
    }
    if (awaits_points(*other) && clockwork_.poll(*other)) complete(*other);
    const bool first = state.owner < other->owner;
    const std::lock_guard lower(first ? state.mutex : other->mutex);
    const std::lock_guard upper(first ? other->mutex : state.mutex);
    if (!state.open || !other->open) return false;
    const Point passed = other->passed.load(std::memory_order_acquire);
    SpanCache::Entry entry;
    while (state.spans.size() <= config_.parked_spans / 2 &&
           other->spans.take_passed(bytes, alignment, passed, &entry)) {
      blocks_.at(entry.id).user.store(&state, std::memory_order_release);
      entry.point = 0;
      state.spans.park(entry);
    }
    if (state.spans.has(bytes, alignment)) {
      state.drained = 0;
      return true;
    }
  }
  return false;
}

// Sends home what a stream has parked; whether there was any.
bool Pool::Impl::unpark(StreamState& state) {
  bool record = false;
  {
    const std::lock_guard lock(state.mutex);
    if (state.spans.empty() && !state.cache.parks()) return false;
    bool idle = unpark_small(state);
    const std::lock_guard engine_lock(engine_mutex_);
    if (closed()) return false;
    idle |= give_back_parked(state, state.spans.size());
    record = point_due(state, idle);
  }
  if (record) record_point(state);
  return true;
}

// The oldest of what is parked; whether that left a handle wholly idle. REQUIRES: the stream's
// mutex and the engine lock.
bool Pool::Impl::give_back_parked(StreamState& state, unsigned count) {
  const Point passed = state.passed.load(std::memory_order_acquire);
  bool idle = false;
  state.spans.give_back(count, [&](const SpanCache::Entry& entry) {
    small_pending_.fold(state.spans.pending_delta);  // pending once, not twice
    index_.clear_span(entry.address);
    blocks_.at(entry.id).user.store(nullptr, std::memory_order_release);
    state.wanted |= entry.point > passed;
    idle |= free_range(entry.id, entry.point <= passed ? Stamp{} : Stamp{state.owner, entry.point});
  });
  return idle;
}

// Frees ------------------------------------------------------------------------------------------

// Finds the live block and locks its user's mutex. Null, with nothing locked, for misuse, and for
// what has to be looked at again.
SpanBlock* Pool::Impl::lock_live_span(Address address, std::size_t bytes, StateLock* lock,
                                      Misuse* misuse, bool* again) {
  SpanBlock* block = lock_span(address, lock);
  *misuse = Misuse::none;
  if (closed()) {
    *misuse = Misuse::pool_closed;
  } else if (block == nullptr) {
    const std::lock_guard engine_lock(engine_mutex_);
    *again = index_.span(address) != kNoExtent || index_.carrier(address) != nullptr;
    if (!*again) *misuse = classify(address);
    return nullptr;
  } else if (block->freed.load(std::memory_order_relaxed)) {
    *misuse = Misuse::double_free;
  } else if (bytes != 0 && bytes != block->requested) {
    *misuse = Misuse::size_mismatch;
  } else {
    return block;
  }
  if (block != nullptr) lock->unlock();
  return nullptr;
}

// Half of what is parked goes back at once, so that this is rare. Whether a point should be
// recorded. REQUIRES: the stream's mutex.
bool Pool::Impl::park_fewer(StreamState& state) {
  const std::lock_guard engine_lock(engine_mutex_);
  give_back_parked(state, state.spans.size() - config_.parked_spans / 2);
  return is_scattered(state);
}

// A free on another stream than the block's own, or one that others wait for too.
Misuse Pool::Impl::release_span(Address address, StreamState& state, StreamId stream,
                                std::size_t bytes, bool* again) {
  {
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream)) {
      *again = true;
      return Misuse::none;
    }
  }
  StreamState* user = nullptr;
  DeferredFrees::Blocks waits;
  ExtentId id = kNoExtent;
  std::size_t requested = 0, allocated = 0;
  bool keeps = false, moves = false;
  {
    StateLock lock;
    Misuse misuse = Misuse::none;
    SpanBlock* block = lock_live_span(address, bytes, &lock, &misuse, again);
    if (block == nullptr) return misuse;
    user = block->user.load(std::memory_order_relaxed);
    keeps = user->keeps.load(std::memory_order_relaxed);
    if (block->shared || (keeps && user->stream != stream)) {
      const std::lock_guard engine_lock(engine_mutex_);
      waits = take_uses(address, block->shared, *user);
    }
    block->freed.store(true, std::memory_order_relaxed);  // nobody else frees it from here on
    id = block->id;
    requested = block->requested;
    allocated = block->bytes;
    moves = waits.empty() && !keeps && !state.keeps.load(std::memory_order_relaxed);
    if (moves) {
      if (user != &state) user->drained += allocated;
      block->user.store(&state, std::memory_order_release);
    }
  }
  const bool deferred = !waits.empty();
  bool record = false;
  if (moves) {
    // It is this stream's from here on, which parks it like its own: so the engine, which all
    // share, sees many of them at once.
    const std::lock_guard lock(state.mutex);
    if (!state.open) return Misuse::none;  // the pool was closed meanwhile
    --state.counters.span_blocks;
    state.counters.span_bytes -= allocated;
    ++state.uncovered;
    state.wanted = true;
    state.spans.park({allocated, address, id, state.next_point});
    if (state.spans.size() > config_.parked_spans) record = park_fewer(state);
    record |= point_due(state, allocated >= traits_.granularity);
    if (record) state.span_calls = 0;
  } else {
    const std::lock_guard lock(state.mutex);
    const std::lock_guard engine_lock(engine_mutex_);
    if (closed()) return Misuse::none;
    index_.clear_span(address);
    blocks_.at(id).user.store(nullptr, std::memory_order_release);
    --state.counters.span_blocks;
    state.counters.span_bytes -= allocated;
    if (deferred) {
      engine_.at(id).block = false;
    } else {
      ++state.uncovered;
      state.wanted = true;
      // Unless the arena ended just now: then this stream has what the arena had.
      keeps = keeps && user->keeps.load(std::memory_order_relaxed);
      const Stamp stamp = keeps ? Stamp{user->owner, kNever} : Stamp{state.owner, state.next_point};
      record = point_due(state, free_range(id, stamp));
      record |= is_scattered(state);
      if (record) state.span_calls = 0;
    }
  }
  // Before the frees of `user` are complete, so that it is not closed meanwhile.
  if (deferred) {
    Deferred& one = waits.front();
    one.id = id;
    one.bytes = allocated;
    one.freed_on = &state;
    one.user = user;
    defer(std::move(waits));
  }
  account_foreign(state, *user, requested, allocated);
  if (record) record_point(state);
  return Misuse::none;
}

// Points tell others what they may have. While every allocation of the pool is served by its
// stream's own cache and this stream keeps no more than before, nobody wants to know, and a point
// and its question cost two calls of the driver: so they become rarer, each time by half.
// REQUIRES: the stream's mutex.
bool Pool::Impl::point_pays(StreamState& state, std::uint32_t every) const noexcept {
  const std::uint64_t searches = searches_.load(std::memory_order_relaxed);
  if (std::exchange(state.searches, searches) != searches || state.wanted ||
      state.cached() >= state.pending_covered + traits_.granularity) {
    state.calm = 1;
    return true;
  }
  if (state.uncovered >= std::uint64_t{every} * state.calm) return true;
  state.record_from = state.uncovered + every;
  return false;
}

// Once in so many frees: records a point, and makes everybody's what has passed. Where that cannot
// be, since the stream captures for instance, it is tried again only after as many frees more.
void Pool::Impl::record_point(StreamState& state) noexcept {
  if (clockwork_.tick(state)) complete(state);
  const std::lock_guard lock(state.mutex);
  if (state.uncovered > 0) state.record_from = state.uncovered + config_.point_every_frees;
}

// Whether a question to the timeline pays: it costs a microsecond, and joins what is pending in
// many ranges. REQUIRES: the stream's mutex and the engine lock.
bool Pool::Impl::is_scattered(StreamState& state) const {
  constexpr std::size_t kWorth = 512;  // calls × ranges
  constexpr std::uint32_t kLeast = 4;
  return ++state.span_calls >= kLeast &&
         state.span_calls * engine_.pending_ranges(state.owner) >= kWorth;
}

}  // namespace forebay::pool
