#include "runtime/cuda/compile_queue.hpp"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "forebay/pool/error.hpp"
#include "forebay/runtime/log.hpp"
#include "runtime/cuda/compilations.hpp"
#include "runtime/process.hpp"

namespace forebay::cuda {

using State = BackgroundKernel::State;

struct CompileQueue::Shared {
  explicit Shared(const Options& given, KernelCounters& told) : options(given), counters(&told) {}

  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::shared_ptr<BackgroundKernel>> waiting;  // mutex; the last used first
  std::vector<std::weak_ptr<BackgroundKernel>> resting;  // mutex; each once
  unsigned threads = 0;                                  // mutex
  KernelCounters* counters;                              // mutex; null after `stop`
  std::string last_failure;                              // mutex

  /// REQUIRES: the mutex is held, as below.
  void count_waiting() const {
    if (counters != nullptr) counters->queued.store(waiting.size(), std::memory_order_relaxed);
  }
  void drop(std::list<std::shared_ptr<BackgroundKernel>>::iterator place) {
    (*place)->state_.store(State::idle, std::memory_order_release);
    remember(*place);
    waiting.erase(place);
    if (counters != nullptr) counters->dropped.fetch_add(1, std::memory_order_relaxed);
  }
  /// As one that `settle` has to queue. Without memory its next use does it all the same.
  void remember(const std::shared_ptr<BackgroundKernel>& kernel) {
    if (kernel->resting_) return;
    try {
      // Before it grows, those go that nobody holds any more.
      if (resting.size() == resting.capacity()) {
        std::erase_if(resting, [](const auto& one) { return one.expired(); });
        resting.reserve(2 * resting.size() + 8);
      }
      resting.push_back(kernel);
      kernel->resting_ = true;
    } catch (const std::bad_alloc&) {
    }
  }
  /// Queues what rests and is still without a kernel, as far as the queue has room; behind all
  /// others, since nobody uses it now.
  void bring_back() {
    while (!resting.empty() && waiting.size() < options.bound) {
      const std::shared_ptr<BackgroundKernel> kernel = resting.back().lock();
      if (kernel != nullptr && kernel->state() == State::idle) {
        waiting.push_back(kernel);
        kernel->place_ = std::prev(waiting.end());
        kernel->state_.store(State::queued, std::memory_order_release);
      }
      if (kernel != nullptr) kernel->resting_ = false;
      resting.pop_back();
    }
    count_waiting();
  }
};

CompileQueue::CompileQueue(const Options& options, KernelCounters& counters)
    : generation_(process::generation()), shared_(std::make_shared<Shared>(options, counters)) {}

CompileQueue::~CompileQueue() { stop(std::chrono::milliseconds(0)); }

void CompileQueue::want(const std::shared_ptr<BackgroundKernel>& kernel) noexcept {
  const State before = kernel->state();
  if (before != State::idle && before != State::queued) return;
  Compilation::wait_at_thread_end();
  Shared& shared = *shared_;
  const std::lock_guard lock(shared.mutex);
  if (shared.counters == nullptr) return;
  switch (kernel->state()) {
    case State::queued:
      shared.waiting.splice(shared.waiting.begin(), shared.waiting, kernel->place_);
      return;
    case State::idle:
      break;
    default:
      return;
  }
  try {
    shared.waiting.push_front(kernel);
  } catch (const std::bad_alloc&) {
    return;
  }
  kernel->place_ = shared.waiting.begin();
  kernel->state_.store(State::queued, std::memory_order_release);
  if (shared.waiting.size() > shared.options.bound) shared.drop(std::prev(shared.waiting.end()));
  if (shared.threads < shared.options.threads) start_thread(shared_);
  shared.count_waiting();
}

void CompileQueue::know(const std::shared_ptr<BackgroundKernel>& kernel) noexcept {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->counters != nullptr) shared_->remember(kernel);
}

bool CompileQueue::settle(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  Shared& shared = *shared_;
  std::unique_lock lock(shared.mutex);
  for (;;) {
    if (shared.counters != nullptr) shared.bring_back();
    for (std::size_t n = shared.waiting.size();
         n > 0 && !shared.waiting.empty() && shared.threads < shared.options.threads; --n) {
      start_thread(shared_);
    }
    if (shared.threads == 0) return shared.resting.empty();  // else there is no thread to be had
    if (!shared.changed.wait_until(lock, deadline, [&] { return shared.threads == 0; })) {
      return false;
    }
    if (shared.resting.empty()) return true;
  }
}

void CompileQueue::stop(std::chrono::milliseconds limit) noexcept {
  if (generation_ != process::generation()) return;  // threads and locks stayed in the parent
  Shared& shared = *shared_;
  std::unique_lock lock(shared.mutex);
  while (!shared.waiting.empty()) shared.drop(shared.waiting.begin());
  shared.resting.clear();
  shared.count_waiting();
  shared.counters = nullptr;
  shared.changed.wait_for(lock, limit, [&] { return shared.threads == 0; });
}

// REQUIRES: the mutex is held.
void CompileQueue::start_thread(const std::shared_ptr<Shared>& shared) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // the thread inherits it: signals are the program's
  try {
    std::thread([shared] { work(shared); }).detach();
    ++shared->threads;
  } catch (const std::exception&) {
    // No thread to be had. Those that exist go on; without any, the next use tries again.
    if (shared->threads == 0) {
      while (!shared->waiting.empty()) shared->drop(shared->waiting.begin());
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void CompileQueue::work(const std::shared_ptr<Shared>& shared) noexcept {
  std::unique_lock lock(shared->mutex);
  while (!shared->waiting.empty()) {
    const std::shared_ptr<BackgroundKernel> kernel = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    shared->count_waiting();
    kernel->state_.store(State::compiling, std::memory_order_release);
    lock.unlock();
    make(*shared, *kernel);
    lock.lock();
  }
  --shared->threads;
  shared->changed.notify_all();
}

void CompileQueue::make(Shared& shared, BackgroundKernel& kernel) noexcept {
  State end = State::failed;
  std::string failure;
  bool counted = false;
  {
    const Compilation compilation;
    if (!compilation.began()) {
      kernel.state_.store(State::idle, std::memory_order_release);
      return;  // the process ends
    }
    try {
      kernel.function_ = kernel.make_();
      end = State::ready;
    } catch (const ClosedError&) {
      end = State::idle;
    } catch (const CompileError& error) {
      failure = error.what();
      counted = true;  // by the kernel cache
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (end != State::idle) kernel.make_ = nullptr;
  }
  if (end == State::failed) {
    const std::lock_guard lock(shared.mutex);
    if (shared.counters != nullptr && !counted) {
      shared.counters->failed.fetch_add(1, std::memory_order_relaxed);
    }
    // Without a compiler, every program fails alike: one warning does.
    const bool news = std::exchange(shared.last_failure, failure) != failure;
    log(news ? LogLevel::warn : LogLevel::info,
        "a program stays interpreted, since its kernel cannot be had: " + failure);
  }
  kernel.state_.store(end, std::memory_order_release);
}

}  // namespace forebay::cuda
