#include "compute/host/threads.hpp"

#include <algorithm>
#include <csignal>
#include <system_error>

namespace forebay::compute::host {

Threads::Threads(unsigned count)
    : count_(count != 0 ? count : std::max(1U, std::thread::hardware_concurrency())) {}

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Threads::run(std::size_t items, const std::function<void(std::size_t)>& item) {
  if (items < 2 || count_ < 2) {
    for (std::size_t i = 0; i < items; ++i) item(i);
    return;
  }
  if (workers_.empty()) start();
  {
    const std::lock_guard lock(mutex_);
    item_ = &item;
    items_ = items;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<unsigned>(workers_.size());
    ++generation_;
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return busy_ == 0; });
}

void Threads::start() {
  // New threads inherit the mask: signals belong to the application's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (workers_.size() + 1 < count_) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    count_ = static_cast<unsigned>(workers_.size()) + 1;  // the machine has no more to give
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Threads::work() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    lock.unlock();
    drain();
    lock.lock();
    if (--busy_ == 0) idle_.notify_one();
  }
}

void Threads::drain() {
  for (std::size_t i = next_.fetch_add(1, std::memory_order_relaxed); i < items_;
       i = next_.fetch_add(1, std::memory_order_relaxed)) {
    (*item_)(i);
  }
}

}  // namespace forebay::compute::host
