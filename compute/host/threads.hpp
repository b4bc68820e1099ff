// The threads of one host backend.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace forebay::compute::host {

/// Runs the items of a loop on several threads, the caller's among them. Threads start with the
/// first loop that can use them, and block all signals.
/// Thread safety: one loop at a time.
class Threads {
 public:
  /// `count` threads together with the caller's; 0: as many as the machine has cores.
  explicit Threads(unsigned count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  [[nodiscard]] unsigned count() const noexcept { return count_; }
  /// Calls `item(i)` once for each i < items, in any order, and returns when all are done.
  /// REQUIRES: `item` does not throw.
  void run(std::size_t items, const std::function<void(std::size_t)>& item);

 private:
  void start();
  void work();
  void drain();

  unsigned count_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::uint64_t generation_ = 0;  // mutex_; of the loop
  unsigned busy_ = 0;             // mutex_; workers that have not finished the loop
  bool stopping_ = false;         // mutex_
  const std::function<void(std::size_t)>* item_ = nullptr;  // mutex_ to change
  std::size_t items_ = 0;                                   // mutex_ to change
  std::atomic<std::size_t> next_{0};
};

}  // namespace forebay::compute::host
