// Sampled latencies: one operation in so many is timed.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "forebay/pool/stats.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

/// A histogram of nanoseconds with eight steps an octave (so a percentile is at most 1/8 too high).
/// Kept in stripes, one for each of so many threads, so that threads do not wait for each other's
/// lines. Thread safety: relaxed atomics.
class LatencyHistogram {
 public:
  void add(std::uint64_t nanoseconds) noexcept {
    Stripe& stripe = stripes_[own_stripe()];
    stripe.buckets[bucket(nanoseconds)].fetch_add(1, std::memory_order_relaxed);
    stripe.sum.fetch_add(nanoseconds, std::memory_order_relaxed);
    std::uint64_t longest = stripe.max.load(std::memory_order_relaxed);
    while (nanoseconds > longest &&
           !stripe.max.compare_exchange_weak(longest, nanoseconds, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::uint64_t sum() const noexcept {
    std::uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.sum.load(std::memory_order_relaxed);
    return sum;
  }
  [[nodiscard]] PercentileStats percentiles() const noexcept {
    PercentileStats stats;
    Counts counts{};
    for (const Stripe& stripe : stripes_) {
      for (unsigned at = 0; at < kBuckets; ++at) {
        counts[at] += stripe.buckets[at].load(std::memory_order_relaxed);
      }
      stats.max = std::max<Count>(stats.max, stripe.max.load(std::memory_order_relaxed));
    }
    for (const std::uint64_t count : counts) stats.count += count;
    stats.p50 = percentile(counts, stats.count, 500);
    stats.p99 = percentile(counts, stats.count, 990);
    stats.p999 = percentile(counts, stats.count, 999);
    return stats;
  }

 private:
  static constexpr unsigned kSteps = 8, kBuckets = 40 * kSteps, kStripes = 8;
  using Counts = std::array<std::uint64_t, kBuckets>;
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, kBuckets> buckets{};
    std::atomic<std::uint64_t> sum{0}, max{0};
  };
  static unsigned own_stripe() noexcept {
    static std::atomic<unsigned> next{0};
    static thread_local const unsigned own = next.fetch_add(1, std::memory_order_relaxed);
    return own % kStripes;
  }
  static unsigned bucket(std::uint64_t value) noexcept {
    if (value < kSteps) return static_cast<unsigned>(value);
    const unsigned octave = log2_floor(value) - 3;
    const unsigned at = (octave + 1) * kSteps + static_cast<unsigned>((value >> octave) % kSteps);
    return at < kBuckets ? at : kBuckets - 1;
  }
  /// The largest value of a bucket.
  static std::uint64_t top(unsigned at) noexcept {
    if (at < kSteps) return at;
    const unsigned octave = at / kSteps - 1;
    return ((std::uint64_t{kSteps} + at % kSteps + 1) << octave) - 1;
  }
  [[nodiscard]] static std::uint64_t percentile(const Counts& counts, std::uint64_t count,
                                                unsigned permille) noexcept {
    std::uint64_t below = 0;
    for (unsigned at = 0; at < kBuckets && count > 0; ++at) {
      below += counts[at];
      if (below * 1000 >= count * permille) return top(at);
    }
    return 0;
  }

  std::array<Stripe, kStripes> stripes_{};
};

enum class Timed : std::uint8_t { allocate, deallocate };

/// Whether it is this thread's turn to be timed; each operation has turns of its own. Cost: one
/// thread-local decrement.
template <Timed>
[[nodiscard]] inline bool is_turn(std::uint32_t one_in) noexcept {
  static constinit thread_local std::int32_t countdown = 1;
  if (--countdown > 0) return false;
  countdown = static_cast<std::int32_t>(std::max(one_in, 1u));
  return one_in != 0;
}

/// Times its own lifetime.
class LatencyTimer {
 public:
  explicit LatencyTimer(LatencyHistogram& histogram) noexcept : histogram_(histogram) {}
  ~LatencyTimer() {
    const auto spent = Clock::now() - begin_;
    histogram_.add(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count()));
  }
  LatencyTimer(const LatencyTimer&) = delete;
  LatencyTimer& operator=(const LatencyTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  LatencyHistogram& histogram_;
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace forebay::pool
