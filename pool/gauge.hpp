// An amount, its peak, and when the peak was reached.
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace forebay::pool {

/// Cheap, and exact to a tick of some milliseconds. Cost of `now`: a few nanoseconds, no system
/// call.
struct CoarseClock {
#ifdef CLOCK_MONOTONIC_COARSE
  static constexpr clockid_t kId = CLOCK_MONOTONIC_COARSE;
  static constexpr const char* kName = "CLOCK_MONOTONIC_COARSE";
#else
  static constexpr const char* kName = "CLOCK_MONOTONIC";
  static constexpr clockid_t kId = CLOCK_MONOTONIC;
#endif
  /// Nanoseconds, never 0 and never fewer than before.
  [[nodiscard]] static std::int64_t now() noexcept {
    timespec time{};
    clock_gettime(kId, &time);
    return std::max<std::int64_t>(1, time.tv_sec * kSecond + time.tv_nsec);
  }
  /// The length of a tick in seconds.
  [[nodiscard]] static double resolution_s() noexcept {
    timespec tick{};
    clock_getres(kId, &tick);
    return static_cast<double>(tick.tv_sec * kSecond + tick.tv_nsec) / 1e9;
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
};

/// A peak is dated anew when it has risen by this share since its last date, so that a growing
/// program reads the clock seldom: some hundred times while its memory doubles.
[[nodiscard]] constexpr std::int64_t next_dated(std::int64_t dated) noexcept {
  return dated + (dated >> 10);
}

/// Bytes now, at most, and when that was reached up to the share above. Written under one lock,
/// read by anybody.
template <typename Clock>
class BasicGauge {
 public:
  [[nodiscard]] std::uint64_t current() const noexcept {
    return current_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t peak() const noexcept {
    return peak_.load(std::memory_order_relaxed);
  }
  /// Of the clock; 0 before anything came.
  [[nodiscard]] std::int64_t peak_at() const noexcept {
    return at_.load(std::memory_order_relaxed);
  }
  void set(std::uint64_t value) noexcept {
    current_.store(value, std::memory_order_relaxed);
    if (value <= peak()) return;
    peak_.store(value, std::memory_order_relaxed);
    const auto risen = static_cast<std::int64_t>(value);
    if (risen <= next_dated(dated_)) return;
    dated_ = risen;
    at_.store(Clock::now(), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> current_{0}, peak_{0};
  std::int64_t dated_ = 0;  // the peak of that date
  std::atomic<std::int64_t> at_{0};
};
using Gauge = BasicGauge<CoarseClock>;

/// A Delta with the date of its highest. `add` is to be followed by `date` where a date is due,
/// that is where the sum of all streams would get a new one; only `date` reads the clock.
template <typename Clock>
struct BasicDatedDelta {
  std::int64_t now = 0, high = 0;
  std::int64_t due = 0;   // above it there is a new date
  std::int64_t step = 0;  // from one date to the next
  std::int64_t at = 0;    // 0: none since the last fold
  void add(std::int64_t change) noexcept {
    now += change;
    if (now > high) high = now;
  }
  /// The same for what only goes.
  void drop(std::int64_t amount) noexcept { now -= amount; }
  [[nodiscard]] bool is_due() const noexcept { return high > due; }
  void date() noexcept {
    if (!is_due()) return;
    at = Clock::now();
    due = high + std::max(step, high >> 10);
  }
};
using DatedDelta = BasicDatedDelta<CoarseClock>;

/// The sum of what streams have folded in, and its peak. Thread safety: atomic.
///
/// The date of the peak is exact up to a tick and the share above on one thread. On several it is
/// off by as much as the peak is: what streams have not folded yet is seen late.
template <typename Clock>
class BasicFoldedGauge {
 public:
  void fold(BasicDatedDelta<Clock>& delta) noexcept {
    const std::int64_t before = current_.fetch_add(delta.now, std::memory_order_relaxed);
    raise(before + delta.high, delta.at);
    const std::int64_t dated = dated_.load(std::memory_order_relaxed);
    delta = {0, 0, next_dated(dated) - before - delta.now, next_dated(dated) - dated, 0};
  }
  [[nodiscard]] std::uint64_t current() const noexcept {
    return static_cast<std::uint64_t>(current_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint64_t peak() const noexcept {
    return static_cast<std::uint64_t>(peak_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::int64_t peak_at() const noexcept {
    return at_.load(std::memory_order_relaxed);
  }

 private:
  void raise(std::int64_t value, std::int64_t at) noexcept {
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (value > peak && !peak_.compare_exchange_weak(peak, value, std::memory_order_relaxed)) {
    }
    std::int64_t dated = dated_.load(std::memory_order_relaxed);
    while (value > next_dated(dated)) {
      if (!dated_.compare_exchange_weak(dated, value, std::memory_order_relaxed)) continue;
      date(at != 0 ? at : Clock::now());
      return;
    }
  }

  // Of two threads that raise the peak at once, either may come first here.
  void date(std::int64_t at) noexcept {
    std::int64_t latest = at_.load(std::memory_order_relaxed);
    while (at > latest && !at_.compare_exchange_weak(latest, at, std::memory_order_relaxed)) {
    }
  }

  std::atomic<std::int64_t> current_{0}, peak_{0}, dated_{0}, at_{0};
};
using FoldedGauge = BasicFoldedGauge<CoarseClock>;

}  // namespace forebay::pool
