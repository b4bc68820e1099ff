#include "runtime/process.hpp"

#include <pthread.h>

namespace forebay::process {

void watch_forks() noexcept {
  [[maybe_unused]] static const int registered = pthread_atfork(
      nullptr, nullptr, [] { current_generation.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace forebay::process
