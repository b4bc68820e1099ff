// A change that its stream has not folded into the pool's yet.
#pragma once

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

}  // namespace forebay::pool
