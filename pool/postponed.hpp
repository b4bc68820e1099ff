// Frees for which the host had no memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "forebay/pool/timeline.hpp"

namespace forebay::pool {

/// Their blocks are live still; each is made up for as soon as a call finds memory again. A first
/// in first out queue of fixed length, since it is for when there is no memory.
///
/// Thread safety: any thread. Cost of `empty`: one load.
class PostponedFrees {
 public:
  struct Free {
    void* pointer = nullptr;
    StreamId stream = 0;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kMost = 256;

  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// False if there is no room.
  [[nodiscard]] bool add(const Free& free) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t count = size();
    if (count == kMost) return false;
    frees_[(head_ + count) % kMost] = free;
    count_.store(count + 1, std::memory_order_relaxed);
    return true;
  }
  /// The oldest; false if there is none.
  [[nodiscard]] bool take(Free* free) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t count = size();
    if (count == 0) return false;
    *free = frees_[head_];
    head_ = (head_ + 1) % kMost;
    count_.store(count - 1, std::memory_order_relaxed);
    return true;
  }
  /// Whether one of a stream is there.
  [[nodiscard]] bool any_of(StreamId stream) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < size(); ++i) {
      if (frees_[(head_ + i) % kMost].stream == stream) return true;
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::array<Free, kMost> frees_{};  // mutex_
  std::size_t head_ = 0;             // mutex_
  std::atomic<std::size_t> count_{0};
};

}  // namespace forebay::pool
