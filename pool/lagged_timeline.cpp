#include "forebay/pool/lagged_timeline.hpp"

#include <algorithm>

namespace forebay::pool {
namespace {

constexpr std::uint64_t kNeverRecorded = ~std::uint64_t{0};

}  // namespace

StreamId LaggedTimeline::add_stream() {
  const std::lock_guard lock(mutex_);
  const StreamId id = streams_.size() + 1;
  streams_[id];
  return id;
}

std::uint64_t LaggedTimeline::done() const noexcept {
  const std::uint64_t now = ticks_.load(std::memory_order_relaxed);
  return std::max(waited_for_, now > lag_ ? now - lag_ : 0);
}

bool LaggedTimeline::knows(StreamId stream) const noexcept {
  const std::lock_guard lock(mutex_);
  return streams_.count(stream) != 0;
}

bool LaggedTimeline::capturing(StreamId) const noexcept { return false; }

bool LaggedTimeline::record(StreamId stream, Point point) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return false;
  found->second.push_back({point, ticks_.load(std::memory_order_relaxed)});
  return true;
}

std::uint64_t LaggedTimeline::recorded_at(StreamId stream, Point point) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return kNeverRecorded;
  const auto& points = found->second;
  const auto at =
      std::lower_bound(points.begin(), points.end(), point,
                       [](const Recorded& recorded, Point p) { return recorded.point < p; });
  return at == points.end() ? kNeverRecorded : at->tick;
}

bool LaggedTimeline::passed(StreamId stream, Point point) noexcept {
  const std::lock_guard lock(mutex_);
  return recorded_at(stream, point) <= done();
}

bool LaggedTimeline::wait(StreamId waiter, StreamId stream, Point point) noexcept {
  const std::lock_guard lock(mutex_);
  return streams_.count(waiter) != 0 && recorded_at(stream, point) != kNeverRecorded;
}

bool LaggedTimeline::synchronize(StreamId stream, Point point) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t tick = recorded_at(stream, point);
  if (tick == kNeverRecorded) return false;
  waited_for_ = std::max(waited_for_, tick);
  return true;
}

void LaggedTimeline::forget(StreamId stream, Point point) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  auto& points = found->second;
  while (!points.empty() && points.front().point <= point) points.pop_front();
}

std::size_t LaggedTimeline::live_points() const {
  const std::lock_guard lock(mutex_);
  std::size_t points = 0;
  for (const auto& [id, stream] : streams_) points += stream.size();
  return points;
}

}  // namespace forebay::pool
