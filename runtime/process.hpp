// What a runtime must know about its process: whether it was forked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace forebay::process {

/// `generation`. Constant initialisation: valid before and after every static object of the
/// program.
inline constinit std::atomic<std::uint32_t> current_generation{0};

/// A number that differs between a process and the children it forks after `watch_forks`. Objects
/// that hold threads, locks or a device keep the number they were made under: where it has changed,
/// they are copies in a forked child, in which no lock may be taken and nothing destroyed.
/// Thread safety: any thread. Cost: one relaxed load.
[[nodiscard]] inline std::uint32_t generation() noexcept {
  return current_generation.load(std::memory_order_relaxed);
}

/// From now on `generation` follows forks. Once is enough; more is fine.
void watch_forks() noexcept;

/// The one `T` of the process, made at first use. It is never destroyed, so that static objects may
/// use it at exit. A forked child makes a new one, since a lock in the inherited one may be held by
/// a thread that the child does not have.
/// Thread safety: any thread. REQUIRES: static storage.
template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;

  [[nodiscard]] T& get() {
    watch_forks();
    Node* found = current_.load(std::memory_order_acquire);
    while (found == nullptr || found->generation != generation()) {
      auto made = std::make_unique<Node>();
      made->inherited = found;  // stays reachable, so that leak checkers do not report it
      if (current_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
        found = made.release();
      }
    }
    return found->value;
  }

 private:
  struct Node {
    std::uint32_t generation = process::generation();
    Node* inherited = nullptr;
    T value;
  };
  std::atomic<Node*> current_{nullptr};
};

}  // namespace forebay::process
