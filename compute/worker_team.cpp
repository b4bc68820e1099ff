#include "compute/worker_team.hpp"

#include <csignal>
#include <system_error>
#include <utility>

namespace forebay::compute {

WorkerTeam::~WorkerTeam() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::run(const std::function<void(unsigned member)>& job) {
  start();
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++generation_;
    busy_ = static_cast<unsigned>(threads_.size());
  }
  wake_.notify_all();
  perform(job, 0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  job_ = nullptr;
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerTeam::start() {
  if (threads_.size() + 1 == size_) return;
  // A new thread inherits the mask: signals stay with the application's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (threads_.size() + 1 < size_) {
      threads_.emplace_back(&WorkerTeam::work, this, static_cast<unsigned>(threads_.size()) + 1);
    }
  } catch (const std::system_error&) {
    size_ = static_cast<unsigned>(threads_.size()) + 1;  // the machine has no more to give
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WorkerTeam::work(unsigned member) {
  std::unique_lock lock(mutex_);
  std::uint64_t seen = 0;
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
    if (stop_) return;
    seen = generation_;
    const std::function<void(unsigned)>& job = *job_;
    lock.unlock();
    perform(job, member);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

void WorkerTeam::perform(const std::function<void(unsigned member)>& job,
                         unsigned member) noexcept {
  try {
    job(member);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

}  // namespace forebay::compute
