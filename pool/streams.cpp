// Streams of a pool: finding, opening, retiring and counting them.
#include <algorithm>
#include <new>
#include <utility>

#include "pool/pool_impl.hpp"

namespace forebay::pool {
StreamState* Pool::Impl::find_state(StreamId stream) {
  ThreadSlot& slot = thread_slots[serial_ % kThreadSlots];
  StreamState* state = open_stream(stream);
  if (state == nullptr) return nullptr;
  // So that the peaks are exact where one thread works on several streams.
  if (slot.serial == serial_) fold(*slot.state);
  slot = {serial_, stream, state};
  return state;
}

void Pool::Impl::forget_thread_slot() {
  ThreadSlot& slot = thread_slots[serial_ % kThreadSlots];
  if (slot.serial == serial_) slot = {};
}

StreamState* Pool::Impl::open_stream(StreamId stream) {
  {
    const std::shared_lock lock(registry_mutex_);
    const auto found = streams_.find(stream);
    if (found != streams_.end()) return found->second;
  }
  if (!timeline_->knows(stream)) return nullptr;
  const std::unique_lock lock(registry_mutex_);
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  // One that was retired and is used again goes on as it was.
  for (const auto& state : states_) {
    if (!state) continue;
    const std::lock_guard state_lock(state->mutex);
    if (state->open && state->retiring && !state->is_arena && state->stream == stream) {
      streams_[stream] = state.get();
      state->retiring = false;
      return state.get();
    }
  }
  const auto place = streams_.emplace(stream, nullptr).first;
  try {
    place->second = &new_state(stream, false);
  } catch (...) {
    streams_.erase(place);
    throw;
  }
  return place->second;
}

// A record that is used again stays what it was, a stream's or an arena's: whoever still has one in
// mind as his stream must not get an arena's memory. REQUIRES: registry_mutex_.
StreamState& Pool::Impl::new_state(StreamId stream, bool arena) {
  StreamState* state = nullptr;
  for (const auto& old : states_) {
    if (!old) continue;
    const std::lock_guard lock(old->mutex);
    if (!old->open && old->is_arena == arena) {
      state = old.get();
      break;
    }
  }
  if (state == nullptr) {
    const auto owner = static_cast<Owner>(states_.size());
    {
      const std::lock_guard engine_lock(engine_mutex_);
      engine_.open_owner(owner);
      deferred_.open_owner(owner);
    }
    states_.push_back(std::make_unique<StreamState>(owner));
    state = states_.back().get();
  }
  const std::lock_guard time_lock(state->time_mutex);
  const std::lock_guard lock(state->mutex);
  state->stream = stream;
  state->is_arena = arena;
  state->keeps = arena;
  state->arena.store(nullptr, std::memory_order_relaxed);
  state->retiring = false;
  state->uncovered = state->record_from = 0;
  state->drained = 0;
  state->calm = 1;
  state->wanted = false;
  // A stream that comes back after it was closed goes on counting.
  state->next_point = std::max(state->next_point, point_floor_);
  state->open = true;
  return *state;
}

std::vector<StreamState*> Pool::Impl::open_states() const {
  const std::shared_lock registry(registry_mutex_);
  std::vector<StreamState*> open;
  open.reserve(states_.size());
  for (const auto& state : states_) {
    if (!state) continue;
    const std::lock_guard lock(state->mutex);
    if (state->open) open.push_back(state.get());
  }
  return open;
}

StreamState* Pool::Impl::next_open(Owner after) const noexcept {
  const std::shared_lock registry(registry_mutex_);
  for (std::size_t owner = after + std::size_t{1}; owner < states_.size(); ++owner) {
    const std::lock_guard lock(states_[owner]->mutex);
    if (states_[owner]->open) return states_[owner].get();
  }
  return nullptr;
}

StreamState* Pool::Impl::state_by_owner(Owner owner) const {
  const std::shared_lock registry(registry_mutex_);
  return states_[owner].get();
}

// A block of another stream's was freed: both fold, the working one first, so that one thread's
// peaks stay exact.
void Pool::Impl::account_foreign(StreamState& state, StreamState& user, std::size_t requested,
                                 std::size_t allocated) {
  fold(state);
  const std::lock_guard lock(user.mutex);
  if (!user.open) return;  // the pool was closed meanwhile, and has counted the block as freed
  account_out(user, requested, allocated);
  fold_locked(user);
}

void Pool::Impl::fold(StreamState& state) noexcept {
  const std::lock_guard lock(state.mutex);
  fold_locked(state);
}

// REQUIRES: the stream's mutex.
void Pool::Impl::fold_locked(StreamState& state) noexcept {
  requested_.fold(state.requested);
  allocated_.fold(state.allocated);
  small_pending_.fold(state.cache.pending_delta);
  small_pending_.fold(state.spans.pending_delta);
}

// REQUIRES: the stream's mutex.
void Pool::Impl::date_peaks(StreamState& state) noexcept {
  state.requested.date();
  state.allocated.date();
  if (state.allocated.now > fold_quantum_) fold_locked(state);
}

bool Pool::Impl::retire_stream(StreamId stream) noexcept {
  try {
    make_up(&stream);  // which may bring blocks into quarantine
    const bool empty = watch_ == nullptr || discharge(0, &stream).complete;
    if (!make_up(&stream) || !empty) {
      log("pool: the host has no memory for what was freed on stream " + std::to_string(stream) +
          "; it is not retired");
      return false;
    }
    if (retire(stream)) return true;
    log("pool: the last point of stream " + std::to_string(stream) +
        " could not be recorded; it is not retired");
  } catch (const std::bad_alloc&) {
    log("pool: no host memory to retire a stream; it is not retired");
  }
  return false;
}

bool Pool::Impl::retire(StreamId stream) {
  const std::lock_guard growth(growth_mutex_);
  StreamState* state = nullptr;
  {
    const std::shared_lock registry(registry_mutex_);
    const auto found = streams_.find(stream);
    if (closed() || found == streams_.end()) return true;
    state = found->second;
  }
  Point last = 0;
  {
    const std::lock_guard lock(state->mutex);
    last = state->next_point;
    ++state->uncovered;
  }
  if (!clockwork_.record_last(*state)) return false;
  // From here on nothing needs host memory.
  {
    const std::unique_lock registry(registry_mutex_);
    streams_.erase(stream);
  }
  // The point that was just recorded covers what the arenas' frees wait for.
  while (StreamState* arena = take_arena(stream)) close_arena(*arena, *state, &last);
  {
    const std::lock_guard lock(state->mutex);
    state->retiring = true;
  }
  // Also those that were retired before: streams that come and go leave nothing behind that way,
  // even if nobody ever misses.
  for (StreamState* other = next_open(0); other != nullptr; other = next_open(other->owner)) {
    {
      const std::lock_guard lock(other->mutex);
      if (!other->retiring) continue;
    }
    clockwork_.poll(*other);
    complete(*other);
    drop_spares(*other);
  }
  close_retired();
  return true;
}

// Closes what was retired and has passed its last point. REQUIRES: growth_mutex_, so that no claim
// is under way whose stamps mean one of them.
void Pool::Impl::close_retired() {
  const std::unique_lock registry(registry_mutex_);
  for (const auto& state : states_) {
    if (!state) continue;
    const std::lock_guard time(state->time_mutex);
    const std::lock_guard lock(state->mutex);
    if (!state->open || !state->retiring || !state->recorded.empty()) continue;
    if (!state->cache.carriers().empty() || state->cache.foreign_blocks() > 0) continue;
    if (!state->spans.empty()) continue;
    {
      const std::lock_guard engine_lock(engine_mutex_);
      if (engine_.pending(state->owner) + state->deferred + state->awaited != 0) continue;
    }
    // Blocks that were allocated on it may still live: their frees are counted here too.
    if (state->counters.allocations != state->counters.frees) continue;
    closed_counters_.add(state->counters);
    state->counters = {};
    fold_locked(*state);
    point_floor_ = std::max(point_floor_, state->next_point);
    state->open = false;
  }
}

}  // namespace forebay::pool
