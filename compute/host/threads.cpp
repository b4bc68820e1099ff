#include "compute/host/threads.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace forebay::compute::host {

Threads::Threads(unsigned count)
    : team_(count != 0 ? count : std::max(1U, std::thread::hardware_concurrency())) {}

void Threads::run(std::size_t items, const std::function<void(std::size_t)>& item) {
  if (items < 2 || count() < 2) {
    for (std::size_t i = 0; i < items; ++i) item(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  team_.run([&](unsigned /*member*/) {
    try {
      for (std::size_t i = next++; i < items; i = next++) item(i);
    } catch (...) {
      next = items;
      throw;
    }
  });
}

}  // namespace forebay::compute::host
