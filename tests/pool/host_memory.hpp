// What the test program takes of the host's memory: counted, and refused on request.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace forebay::pool::test {

/// Allocations of the whole program so far.
extern std::atomic<std::uint64_t> host_allocations;

/// Of this thread: while `of_action` runs, its allocations are counted here, and the n-th of them
/// in all fails, or it and every one after it.
class ScarceMemory {
 public:
  ScarceMemory(std::uint64_t nth, bool for_ever) : nth_(nth), for_ever_(for_ever) {}

  template <typename Action>
  auto of_action(Action&& action) {
    const Window window(this);
    return std::forward<Action>(action)();
  }
  [[nodiscard]] std::uint64_t allocations() const noexcept { return allocations_; }
  [[nodiscard]] bool failed() const noexcept { return allocations_ >= nth_; }

  /// While one lives, this thread has memory all the same.
  struct Plenty {
    Plenty() noexcept;
    ~Plenty();
    Plenty(const Plenty&) = delete;
    Plenty& operator=(const Plenty&) = delete;

   private:
    ScarceMemory* const suspended_;
  };

  /// For operator new: whether the next allocation of this thread has to fail.
  static bool refuses() noexcept;

 private:
  struct Window {
    explicit Window(ScarceMemory* memory) noexcept;
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
  };

  const std::uint64_t nth_;
  const bool for_ever_;
  std::uint64_t allocations_ = 0;
};

}  // namespace forebay::pool::test
