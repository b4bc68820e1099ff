#include "runtime/cuda/compilations.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
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

/// Waits for what runs now; `ending`: nothing begins any more. False if that took too long.
bool wait_for_running(bool ending) {
  All& all = all_compilations.get();
  std::unique_lock lock(all.mutex);
  all.ending = all.ending || ending;
  const std::uint64_t latest = all.last;
  return all.ended.wait_for(lock, std::chrono::milliseconds(Compilation::kExitWaitMs), [&] {
    return std::none_of(all.running.begin(), all.running.end(),
                        [&](std::uint64_t number) { return number <= latest; });
  });
}

/// An exit handler: ends the process at once if something still runs.
void leave_the_rest(int status, void* /*unused*/) {
  All& all = all_compilations.get();
  {
    const std::lock_guard lock(all.mutex);
    if (all.running.empty()) return;
  }
  std::fflush(nullptr);
  ::_exit(status);
}

void wait_at_exit(int status, void* /*unused*/) {
  if (!wait_for_running(true)) leave_the_rest(status, nullptr);
}

struct EndOfThread {
  bool armed = false;
  // With the main thread, the process ends.
  ~EndOfThread() {
    if (!armed) return;
    const bool main = ::gettid() == ::getpid();
    // The handler that is made last runs first.
    if (!wait_for_running(main) && main) ::on_exit(leave_the_rest, nullptr);
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
    all.has_handler = ::on_exit(wait_at_exit, nullptr) == 0;
  }
  all.ended.notify_all();
}

void Compilation::wait_at_thread_end() noexcept { end_of_thread.armed = true; }

}  // namespace forebay::cuda
