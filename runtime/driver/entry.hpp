// One function of a library that is opened at run time.
#pragma once

#include <atomic>
#include <cstdint>

namespace forebay::driver {

template <typename Signature>
class Entry;

/// Calls like the function itself and counts its calls.
/// Thread safety: calls from any thread; `set` before the first of them.
/// Cost of a call beyond the function's own: one relaxed addition.
template <typename Result, typename... Args>
class Entry<Result(Args...)> {
 public:
  using Pointer = Result (*)(Args...);

  void set(Pointer function) noexcept { function_ = function; }
  void set(void* symbol) noexcept { function_ = reinterpret_cast<Pointer>(symbol); }
  [[nodiscard]] explicit operator bool() const noexcept { return function_ != nullptr; }

  Result operator()(Args... args) const {
    calls_.fetch_add(1, std::memory_order_relaxed);
    return function_(args...);
  }
  [[nodiscard]] std::uint64_t calls() const noexcept {
    return calls_.load(std::memory_order_relaxed);
  }

 private:
  Pointer function_ = nullptr;
  mutable std::atomic<std::uint64_t> calls_{0};
};

}  // namespace forebay::driver
