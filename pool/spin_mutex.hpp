// The lock of a stream: cheap when nobody else wants it, and calm when many do.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace forebay::pool {

/// Held for less than a microsecond as a rule. Cost of an uncontended lock and unlock: one atomic
/// exchange and one store, about half of std::mutex's.
///
/// Not fair: a lock that changes hands costs many times the work done under it, since everything
/// that it guards moves to the other processor. So those who wait look rarely, all together about
/// once in two microseconds, and whoever has the lock works undisturbed meanwhile.
class SpinMutex {
 public:
  SpinMutex() = default;
  SpinMutex(const SpinMutex&) = delete;
  SpinMutex& operator=(const SpinMutex&) = delete;

  void lock() noexcept {
    if (!try_lock()) [[unlikely]] {
      wait();
    }
  }
  [[nodiscard]] bool try_lock() noexcept {
    return !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  using Clock = std::chrono::steady_clock;
  using Step = std::chrono::nanoseconds;
  static constexpr Step kFirst{100}, kLongestEach{2'000}, kLongest{50'000}, kMostSpinning{200'000},
      kSleep{50'000};

  /// How a thread waits, from one wait to the next: its steps double, and some time without waiting
  /// makes them short again.
  struct Patience {
    Step step = kFirst;
    Clock::time_point last{};
  };

  [[nodiscard]] static Step longest(std::uint32_t waiting) noexcept {
    return std::min(kLongestEach * waiting, kLongest);
  }
  [[gnu::noinline]] void wait() noexcept {
    static thread_local Patience patience;
    constexpr int kForgotten = 8;
    const Clock::time_point begin = Clock::now();
    Clock::time_point now = begin;
    if (now - patience.last > kForgotten * patience.step) patience.step = kFirst;
    patience.step =
        std::min(patience.step, longest(waiting_.fetch_add(1, std::memory_order_relaxed) + 1));
    do {
      if (now - begin > kMostSpinning) {
        std::this_thread::sleep_for(kSleep);  // the holder may want this processor
        now = Clock::now();
        continue;
      }
      for (const auto end = now + patience.step; now < end; now = Clock::now()) pause();
      patience.step =
          std::min(patience.step * 2, longest(waiting_.load(std::memory_order_relaxed)));
    } while (locked_.load(std::memory_order_relaxed) || !try_lock());
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    patience.last = now;
  }
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<bool> locked_{false};
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace forebay::pool
