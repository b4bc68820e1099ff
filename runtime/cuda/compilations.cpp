#include "runtime/cuda/compilations.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "runtime/process.hpp"

namespace forebay::cuda {
namespace {

struct All {
  std::mutex mutex;
  std::condition_variable ended;
  std::uint64_t last = 0;              // mutex
  std::vector<std::uint64_t> running;  // mutex
  bool ending = false;                 // mutex
  bool has_handler = false;            // mutex
};
constinit process::PerProcess<All> all_compilations;

/// Waits for what runs now; `ending`: nothing begins any more.
void wait_for_running(bool ending) {
  All& all = all_compilations.get();
  std::unique_lock lock(all.mutex);
  all.ending = all.ending || ending;
  const std::uint64_t latest = all.last;
  all.ended.wait_for(lock, std::chrono::milliseconds(Compilation::kExitWaitMs), [&] {
    return std::none_of(all.running.begin(), all.running.end(),
                        [&](std::uint64_t number) { return number <= latest; });
  });
}

struct EndOfThread {
  bool armed = false;
  // With the main thread, the process ends.
  ~EndOfThread() {
    if (armed) wait_for_running(::gettid() == ::getpid());
  }
};
thread_local EndOfThread end_of_thread;

}  // namespace

Compilation::Compilation() {
  All& all = all_compilations.get();
  const std::lock_guard lock(all.mutex);
  if (all.ending) return;
  number_ = ++all.last;
  all.running.push_back(number_);
}

Compilation::~Compilation() {
  if (!began()) return;
  All& all = all_compilations.get();
  const std::lock_guard lock(all.mutex);
  all.running.erase(std::find(all.running.begin(), all.running.end(), number_));
  if (!all.has_handler && !all.ending) {
    all.has_handler = std::atexit([] { wait_for_running(true); }) == 0;
  }
  all.ended.notify_all();
}

void Compilation::wait_at_thread_end() noexcept { end_of_thread.armed = true; }

}  // namespace forebay::cuda
