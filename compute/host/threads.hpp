// The threads of one host backend.
#pragma once

#include <cstddef>
#include <functional>

#include "compute/worker_team.hpp"

namespace forebay::compute::host {

/// Runs the items of a loop on several threads, the caller's among them. Threads start with the
/// first loop that can use them, and block all signals.
/// Thread safety: one loop at a time.
class Threads {
 public:
  /// `count` threads together with the caller's; 0: as many as the machine has cores.
  explicit Threads(unsigned count);

  [[nodiscard]] unsigned count() const noexcept { return team_.size(); }
  /// Calls `item(i)` once for each i < items, in any order, and returns when all are done. Throws
  /// the first exception of an item, once no item runs any more; some then never ran.
  void run(std::size_t items, const std::function<void(std::size_t)>& item);

 private:
  WorkerTeam team_;
};

}  // namespace forebay::compute::host
