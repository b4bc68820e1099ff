// The lock of a stream: cheap when nobody else wants it, and calm when many do.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace forebay::pool {

/// Held for less than a microsecond as a rule. Cost of an uncontended lock and unlock: one atomic
/// exchange and one store, about half of std::mutex's.
///
/// Not fair: a lock that changes hands costs many times the work done under it, since everything
/// that it guards moves to the other processor. So whoever has to wait again and again looks ever
/// more rarely, down to once in about 100 microseconds, and whoever has the lock works undisturbed
/// meanwhile.
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
  static constexpr std::chrono::nanoseconds kFirstStep{100}, kLongestSpin{6'400}, kSleep{50'000};

  /// How a thread waits, from one wait to the next: its steps double, and a time without waiting
  /// that is several steps long makes them short again.
  struct Patience {
    std::chrono::nanoseconds step = kFirstStep;
    Clock::time_point last{};
  };

  [[gnu::noinline]] void wait() noexcept {
    static thread_local Patience patience;
    constexpr int kForgotten = 8;
    Clock::time_point now = Clock::now();
    if (now - patience.last > kForgotten * patience.step) patience.step = kFirstStep;
    do {
      if (patience.step > kLongestSpin) {
        std::this_thread::sleep_for(kSleep);  // the holder may want this processor
        now = Clock::now();
      } else {
        for (const auto end = now + patience.step; now < end; now = Clock::now()) pause();
        patience.step *= 2;
      }
    } while (locked_.load(std::memory_order_relaxed) || !try_lock());
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
};

}  // namespace forebay::pool
