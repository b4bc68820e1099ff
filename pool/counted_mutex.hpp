// A mutex that counts how often somebody had to wait for it, and for how long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "forebay/pool/stats.hpp"

namespace forebay::pool {

/// Cost without contention: one compare-and-swap to lock, one exchange to unlock, both inline; so
/// counting costs nothing there. Waiters sleep in the kernel.
class CountedMutex {
 public:
  void lock() {
    int found = kFree;
    if (state_.compare_exchange_strong(found, kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return;
    }
    wait();
  }
  bool try_lock() {
    int found = kFree;
    return state_.compare_exchange_strong(found, kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) state_.notify_one();
  }

  [[nodiscard]] Tally waits() const noexcept {
    return {waits_.load(std::memory_order_relaxed),
            waited_ns_.load(std::memory_order_relaxed) / 1000};
  }

 private:
  enum State : int { kFree, kLocked, kAwaited };  // awaited: somebody may be asleep

  void wait() {
    const auto begin = std::chrono::steady_clock::now();
    // Whoever has slept takes it as awaited, since others may be asleep still.
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
    const auto spent = std::chrono::steady_clock::now() - begin;
    waits_.fetch_add(1, std::memory_order_relaxed);
    waited_ns_.fetch_add(static_cast<std::uint64_t>(
                             std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count()),
                         std::memory_order_relaxed);
  }

  std::atomic<int> state_{kFree};
  std::atomic<std::uint64_t> waits_{0}, waited_ns_{0};
};

}  // namespace forebay::pool
