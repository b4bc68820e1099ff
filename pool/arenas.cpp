// Capture arenas: memory that stays with a graph.
#include <algorithm>
#include <utility>

#include "pool/pool_impl.hpp"

namespace forebay::pool {

ArenaId Pool::Impl::begin_capture(StreamId stream) {
  while (true) {
    if (closed()) throw ClosedError("pool: a capture begins after the pool was closed");
    StreamState* const state = state_of(stream);
    if (state == nullptr) {
      throw Error("pool: stream " + std::to_string(stream) + " is not one of this pool's device");
    }
    // What has passed by now is found out now: until the capture ends, nobody may ask.
    if (clockwork_.poll(*state)) complete(*state);
    const std::unique_lock registry(registry_mutex_);
    if (state->arena.load(std::memory_order_relaxed) != nullptr) {
      throw Error("pool: stream " + std::to_string(stream) +
                  " has the arena of another capture, which has to end first");
    }
    // Only `retire` and `close`, which take the registry lock first, end a state.
    const auto found = streams_.find(stream);
    if (found == streams_.end() || found->second != state) {
      forget_thread_slot();
      continue;
    }
    const ArenaId id = last_arena_ + 1;
    const auto place = arenas_.emplace(id, nullptr).first;
    try {
      place->second = &new_state(stream, true);
    } catch (...) {
      arenas_.erase(place);
      throw;
    }
    StreamState& arena = *place->second;
    last_arena_ = id;
    // Under the time lock, so that no point is being recorded any more.
    const std::lock_guard time(state->time_mutex);
    const std::lock_guard lock(state->mutex);
    state->arena.store(&arena, std::memory_order_release);
    return id;
  }
}

void Pool::Impl::end_capture(StreamId stream) noexcept {
  StreamState* state = nullptr;
  {
    const std::shared_lock registry(registry_mutex_);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    state = found->second;
  }
  const std::lock_guard lock(state->mutex);
  state->arena.store(nullptr, std::memory_order_release);
}

void Pool::Impl::drop_arena(ArenaId id) noexcept {
  const std::lock_guard growth(growth_mutex_);
  StreamState* arena = nullptr;
  StreamState* state = nullptr;
  {
    const std::unique_lock registry(registry_mutex_);
    const auto found = arenas_.find(id);
    if (found == arenas_.end()) return;
    arena = found->second;
    arenas_.erase(found);
    state = streams_.at(arena->stream);  // a stream takes its arenas with it
  }
  close_arena(*arena, *state, nullptr);
  // So that others get the memory soon; while the stream captures again, its next point will do.
  record_point(*state);
  close_retired();
}

StreamState* Pool::Impl::take_arena(StreamId stream) {
  const std::unique_lock registry(registry_mutex_);
  const auto found = std::find_if(arenas_.begin(), arenas_.end(), [stream](const auto& arena) {
    return arena.second->stream == stream;
  });
  if (found == arenas_.end()) return nullptr;
  StreamState* arena = found->second;
  arenas_.erase(found);
  return arena;
}

// Everything of an arena becomes its stream's, free from the recorded point on, or else from the
// next one. The record stays open until the blocks that live are freed: they are counted there.
void Pool::Impl::close_arena(StreamState& arena, StreamState& state, const Point* recorded) {
  const bool first = state.owner < arena.owner;
  const std::lock_guard lower(first ? state.mutex : arena.mutex);
  const std::lock_guard upper(first ? arena.mutex : state.mutex);
  if (state.arena.load(std::memory_order_relaxed) == &arena) {
    state.arena.store(nullptr, std::memory_order_release);
  }
  Point point = state.next_point;
  if (recorded != nullptr) {
    point = *recorded;
  } else {
    ++state.uncovered;
    state.wanted = true;
  }
  while (!arena.cache.carriers().empty()) {
    Carrier* carrier = *arena.cache.carriers().begin();
    arena.cache.remove(carrier);
    carrier->last_point = point;
    state.cache.add(carrier);
    carrier->owner.store(&state, std::memory_order_release);
  }
  // Empty ones would stay until the stream itself is short of memory.
  while (Carrier* empty = state.cache.any_empty()) close_carrier(empty, state);
  // Together, for whoever is about to wait for the arena's end.
  const std::lock_guard engine_lock(engine_mutex_);
  arena.heir = &state;
  arena.heir_point = point;
  arena.keeps = false;
  arena.retiring = true;
  engine_.restamp(arena.owner, {state.owner, point});
  deferred_.pass_on(arena);
}

}  // namespace forebay::pool
