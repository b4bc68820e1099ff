#include "runtime/process.hpp"

#include <pthread.h>

namespace forebay::process {

namespace {
// Constant initialisation: valid before and after every static object of the program.
constinit std::atomic<std::uint32_t> current_generation{0};
}  // namespace

std::uint32_t generation() noexcept { return current_generation.load(std::memory_order_relaxed); }

void watch_forks() noexcept {
  [[maybe_unused]] static const int registered = pthread_atfork(
      nullptr, nullptr, [] { current_generation.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace forebay::process
