// The lock of a stream: cheap when nobody else wants it, and calm when many do.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace forebay::pool {

/// Held for less than a microsecond as a rule. Cost of an uncontended lock and unlock: one atomic
/// exchange and one store, about half of std::mutex's. Not fair: whoever waits steps back for ever
/// longer, so that the threads that work on a busy stream do so undisturbed.
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
  // Pauses double up to some microseconds; then the processor is given away, since the holder may
  // want it, and in the end sleep lets a holder of lower priority run.
  [[gnu::noinline]] void wait() noexcept {
    constexpr unsigned kMostPauses = 256, kYields = 64;
    unsigned pauses = 8, yields = 0;
    do {
      for (unsigned i = 0; i < pauses && locked_.load(std::memory_order_relaxed); ++i) pause();
      if (pauses < kMostPauses) {
        pauses *= 2;
      } else if (++yields < kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    } while (locked_.load(std::memory_order_relaxed) || !try_lock());
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
