#include "pool/clockwork.hpp"

#include <algorithm>

namespace forebay::pool {

void StreamCounters::add(const StreamCounters& other) noexcept {
  requested_in += other.requested_in;
  requested_out += other.requested_out;
  allocated_in += other.allocated_in;
  allocated_out += other.allocated_out;
  allocations += other.allocations;
  frees += other.frees;
  failed += other.failed;
  span_blocks += other.span_blocks;
  span_bytes += other.span_bytes;
  for (std::size_t i = 0; i < kRungs; ++i) served[i] += other.served[i];
}

// A stream of which nothing may be recorded or asked now.
bool Clockwork::silent(StreamState& state) const {
  StreamId stream = 0;
  {
    const std::lock_guard lock(state.mutex);
    if (!state.open || state.is_arena) return true;
    if (state.retiring) return false;
    if (state.arena.load(std::memory_order_relaxed) != nullptr) return true;
    stream = state.stream;
  }
  return timeline_.capturing(stream);
}

bool Clockwork::record(StreamState& state) {
  Point point = 0;
  StreamId stream = 0;
  {
    const std::lock_guard lock(state.mutex);
    if (state.retiring) return false;
    point = state.next_point++;
    stream = state.stream;
    state.uncovered = state.record_from = 0;
    state.pending_covered = state.cached();
    state.wanted = false;
    state.calm = std::min(state.calm * 2, kMostCalm);
  }
  records_.fetch_add(1, std::memory_order_relaxed);
  if (!timeline_.record(stream, point)) {
    const std::lock_guard lock(state.mutex);
    ++state.uncovered;  // what carries the number is still to be covered
    state.wanted = true;
    return false;
  }
  state.points_recorded.fetch_add(1, std::memory_order_relaxed);
  if (state.recorded.size() == StreamState::kMaxPoints) {
    timeline_.forget(stream, state.recorded.front().point);
    state.recorded.erase(state.recorded.begin());
  }
  state.recorded.push_back({point, sequence_.fetch_add(1, std::memory_order_relaxed)});
  state.under_way.store(true, std::memory_order_relaxed);
  return true;
}

bool Clockwork::try_record(StreamState& state, std::size_t at_most) {
  const std::unique_lock time(state.time_mutex, std::try_to_lock);
  if (!time || state.recorded.size() >= at_most || silent(state)) return false;
  return record(state);
}

bool Clockwork::ask(StreamState& state, Point point) {
  queries_.fetch_add(1, std::memory_order_relaxed);
  state.points_queried.fetch_add(1, std::memory_order_relaxed);
  return timeline_.passed(state.stream, point);
}

void Clockwork::advance(StreamState& state, std::size_t count) {
  const Point point = state.recorded[count - 1].point;
  state.recorded.erase(state.recorded.begin(),
                       state.recorded.begin() + static_cast<std::ptrdiff_t>(count));
  state.under_way.store(!state.recorded.empty(), std::memory_order_relaxed);
  state.passed.store(point, std::memory_order_release);
  timeline_.forget(state.stream, point);
}

bool Clockwork::has_uncovered(StreamState& state) {
  const std::lock_guard lock(state.mutex);
  return state.uncovered > 0;
}

// REQUIRES: the time lock.
bool Clockwork::settle(StreamState& state) {
  bool progress = false;
  while (!state.recorded.empty()) {
    // The newest first: on an idle stream one question settles all.
    std::size_t count = state.recorded.size();
    if (!ask(state, state.recorded.back().point)) {
      // Then the oldest, in steps that double as long as the answer is yes, and the last step by
      // halves.
      std::size_t refused = count;
      count = 0;
      for (std::size_t reach = 1; reach < refused; reach *= 2) {
        (ask(state, state.recorded[reach - 1].point) ? count : refused) = reach;
      }
      while (count > 0 && refused - count > 1) {
        const std::size_t middle = count + (refused - count) / 2;
        (ask(state, state.recorded[middle - 1].point) ? count : refused) = middle;
      }
    }
    if (count == 0) return progress;
    progress = true;
    const bool all = count == state.recorded.size();
    advance(state, count);
    if (!all) return progress;
  }
  return progress;
}

bool Clockwork::tick(StreamState& state) {
  const std::unique_lock time(state.time_mutex, std::try_to_lock);
  if (!time || silent(state)) return false;
  const bool progress = settle(state);
  if (state.recorded.size() < StreamState::kMaxPoints) record(state);
  return progress;
}

bool Clockwork::poll(StreamState& state) {
  const std::lock_guard time(state.time_mutex);
  if (silent(state)) return false;
  bool progress = settle(state);
  if (!state.recorded.empty()) return progress;
  if (has_uncovered(state) && record(state) && ask(state, state.recorded.back().point)) {
    advance(state, 1);
    progress = true;
  }
  return progress;
}

bool Clockwork::await(StreamState& waiter, StreamState& state, Point point) {
  std::unique_lock first(waiter.owner < state.owner ? waiter.time_mutex : state.time_mutex);
  std::unique_lock second(waiter.owner < state.owner ? state.time_mutex : waiter.time_mutex);
  if (state.passed.load(std::memory_order_acquire) >= point) return true;
  if (silent(waiter) || silent(state)) return false;
  if (state.recorded.empty() || state.recorded.back().point < point) {
    if (!record(state) || state.recorded.back().point < point) return false;
  }
  const auto covering =
      std::find_if(state.recorded.begin(), state.recorded.end(),
                   [point](const StreamState::RecordedPoint& r) { return r.point >= point; });
  waits_.fetch_add(1, std::memory_order_relaxed);
  waiter.waits.fetch_add(1, std::memory_order_relaxed);
  return timeline_.wait(waiter.stream, state.stream, covering->point);
}

bool Clockwork::synchronize_oldest(StreamState& state) {
  const std::lock_guard time(state.time_mutex);
  if (silent(state)) return false;
  if (state.recorded.empty() && (!has_uncovered(state) || !record(state))) return false;
  synchronizes_.fetch_add(1, std::memory_order_relaxed);
  if (!timeline_.synchronize(state.stream, state.recorded.front().point)) return false;
  advance(state, 1);
  return true;
}

std::uint64_t Clockwork::oldest_sequence(StreamState& state) {
  const std::lock_guard time(state.time_mutex);
  if (silent(state)) return ~std::uint64_t{0};
  if (state.recorded.empty() && (!has_uncovered(state) || !record(state))) {
    return ~std::uint64_t{0};
  }
  return state.recorded.front().sequence;
}

bool Clockwork::record_last(StreamState& state) {
  const std::lock_guard time(state.time_mutex);
  return !silent(state) && record(state);
}

void Clockwork::forget_all(StreamState& state) {
  const std::lock_guard time(state.time_mutex);
  if (!state.recorded.empty()) timeline_.forget(state.stream, state.recorded.back().point);
  state.recorded.clear();
  state.under_way.store(false, std::memory_order_relaxed);
}

void Clockwork::report(TimelineStats& stats) const noexcept {
  stats.records = records_.load(std::memory_order_relaxed);
  stats.queries = queries_.load(std::memory_order_relaxed);
  stats.waits = waits_.load(std::memory_order_relaxed);
  stats.synchronizes = synchronizes_.load(std::memory_order_relaxed);
}

}  // namespace forebay::pool
