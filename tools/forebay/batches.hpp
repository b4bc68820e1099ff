// The times of batches of pairs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

namespace forebay::tools {

/// Pairs in a batch: one clock read costs about as much as a pair, so batches are what is timed.
inline constexpr unsigned kBatchPairs = 16;

/// What the batches of one thread took, in nanoseconds a pair.
/// Thread safety: one thread at a time.
class Batches {
 public:
  using Clock = std::chrono::steady_clock;

  Batches() {
    times_.resize(kMost);  // so that no page is touched first while the clock runs
    times_.clear();
  }

  /// Calls `batch()` until the time is over or `stop` is set, once at least: on a busy machine a
  /// thread may begin after the end. Returns when the last one ended.
  template <typename Batch>
  Clock::time_point run(Batch&& batch, Clock::time_point end, const std::atomic<bool>& stop) {
    auto last = Clock::now();
    do {
      batch();
      const auto now = Clock::now();
      add(now - last);
      last = now;
    } while (!full() && last < end && !stop.load(std::memory_order_relaxed));
    return last;
  }
  /// REQUIRES: not full.
  void add(Clock::duration batch) {
    times_.push_back(std::chrono::duration<float, std::nano>(batch).count() / kBatchPairs);
  }
  [[nodiscard]] bool full() const noexcept { return times_.size() == kMost; }
  [[nodiscard]] const std::vector<float>& times() const noexcept { return times_; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::vector<float> times_;
};

/// The value of rank ceil(share * n) among `values`, which it reorders. REQUIRES: not empty,
/// 0 < share <= 1.
[[nodiscard]] inline double percentile(std::vector<float>& values, double share) {
  const double rank = std::max(1.0, std::ceil(share * static_cast<double>(values.size())));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

}  // namespace forebay::tools
