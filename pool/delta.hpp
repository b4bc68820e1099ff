// A change that its stream has not folded into the pool's yet.
#pragma once

#include <atomic>
#include <cstdint>

namespace forebay::pool {

/// A change since the last fold, and the highest that it was.
struct Delta {
  std::int64_t now = 0, high = 0;
  void add(std::int64_t change) noexcept {
    now += change;
    if (now > high) high = now;
  }
};

/// The sum of what streams have folded in. Thread safety: atomic.
class FoldedSum {
 public:
  void fold(Delta& delta) noexcept {
    current_.fetch_add(delta.now, std::memory_order_relaxed);
    delta = {};
  }
  /// What goes without being undone.
  void forget(std::uint64_t amount) noexcept {
    current_.fetch_sub(static_cast<std::int64_t>(amount), std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t current() const noexcept {
    return static_cast<std::uint64_t>(current_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::int64_t> current_{0};
};

}  // namespace forebay::pool
