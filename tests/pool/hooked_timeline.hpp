// A timeline that a test can look into, stop and make fail.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "forebay/pool/simulated.hpp"

namespace forebay::pool::test {

enum class TimeCall : std::uint8_t { record, passed, wait, synchronize };
inline constexpr std::size_t kTimeCalls = 4;

/// Passes every call on to a simulated timeline. A call can be made to fail at its n-th time, and a
/// record can have something happen just before or just after it, while the pool is inside.
/// Thread safety: as the timeline's, as long as nothing is to fail or to happen.
class HookedTimeline final : public Timeline {
 public:
  explicit HookedTimeline(std::shared_ptr<SimulatedTimeline> timeline)
      : timeline_(std::move(timeline)) {}

  [[nodiscard]] bool knows(StreamId stream) const noexcept override {
    return timeline_->knows(stream);
  }
  [[nodiscard]] bool capturing(StreamId stream) const noexcept override {
    return timeline_->capturing(stream);
  }
  bool record(StreamId stream, Point point) noexcept override {
    if (fails(TimeCall::record)) return false;
    run(before_record, stream);
    const bool done = timeline_->record(stream, point);
    run(after_record, stream);
    return done;
  }
  [[nodiscard]] bool passed(StreamId stream, Point point) noexcept override {
    return !fails(TimeCall::passed) && timeline_->passed(stream, point);
  }
  bool wait(StreamId waiter, StreamId stream, Point point) noexcept override {
    return !fails(TimeCall::wait) && timeline_->wait(waiter, stream, point);
  }
  bool synchronize(StreamId stream, Point point) noexcept override {
    return !fails(TimeCall::synchronize) && timeline_->synchronize(stream, point);
  }
  void forget(StreamId stream, Point point) noexcept override { timeline_->forget(stream, point); }

  /// The `nth` call from now on fails, and all later ones if `for_ever`; 0 ends it.
  void fail(TimeCall call, std::uint64_t nth, bool for_ever) {
    faults_[static_cast<std::size_t>(call)] = {nth, for_ever};
  }
  [[nodiscard]] std::uint64_t calls(TimeCall call) const {
    return calls_[static_cast<std::size_t>(call)];
  }

  /// Called once each, the next time; they may call the pool from a thread of their own.
  std::function<void(StreamId)> before_record, after_record;

 private:
  struct Fault {
    std::uint64_t in = 0;
    bool for_ever = false;
  };
  bool fails(TimeCall call) {
    calls_[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
    Fault& fault = faults_[static_cast<std::size_t>(call)];
    if (fault.in == 0 || --fault.in > 0) return false;
    if (fault.for_ever) fault.in = 1;
    return true;
  }
  static void run(std::function<void(StreamId)>& hook, StreamId stream) {
    if (!hook) return;
    std::exchange(hook, nullptr)(stream);
  }

  std::shared_ptr<SimulatedTimeline> timeline_;
  std::array<Fault, kTimeCalls> faults_{};
  std::array<std::atomic<std::uint64_t>, kTimeCalls> calls_{};
};

}  // namespace forebay::pool::test
