// A timeline without a device, whose clock is the number of events of a replay.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "forebay/pool/timeline.hpp"

namespace forebay::pool {

/// A recorded point passes `lag` ticks later, or at once where the host waits for it; a host wait
/// brings everything recorded before that point to its end, as waiting on a device that works in
/// order would. Streams that wait for each other need no more: whatever a stream records after its
/// wait passes later than what it waited for.
/// Thread safety: every call may be made from any thread.
class LaggedTimeline final : public Timeline {
 public:
  explicit LaggedTimeline(std::uint64_t lag) : lag_(lag) {}

  /// A stream with a new id, from 1.
  StreamId add_stream();
  /// One event more happens. Cost: one atomic addition.
  void tick() noexcept { ticks_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] bool knows(StreamId stream) const noexcept override;
  [[nodiscard]] bool capturing(StreamId stream) const noexcept override;
  bool record(StreamId stream, Point point) noexcept override;
  [[nodiscard]] bool passed(StreamId stream, Point point) noexcept override;
  bool wait(StreamId waiter, StreamId stream, Point point) noexcept override;
  bool synchronize(StreamId stream, Point point) noexcept override;
  void forget(StreamId stream, Point point) noexcept override;

  /// Points that were recorded and not forgotten.
  [[nodiscard]] std::size_t live_points() const;

 private:
  struct Recorded {
    Point point;
    std::uint64_t tick;
  };
  /// The tick at which the point was recorded. REQUIRES: the mutex.
  [[nodiscard]] std::uint64_t recorded_at(StreamId stream, Point point) const;

  /// What was recorded up to this tick has passed. REQUIRES: the mutex.
  [[nodiscard]] std::uint64_t done() const noexcept;

  const std::uint64_t lag_;
  std::atomic<std::uint64_t> ticks_{1};
  mutable std::mutex mutex_;
  // mutex_ guards what follows.
  std::unordered_map<StreamId, std::deque<Recorded>> streams_;
  std::uint64_t waited_for_ = 0;  // the latest tick whose end the host has seen
};

}  // namespace forebay::pool
