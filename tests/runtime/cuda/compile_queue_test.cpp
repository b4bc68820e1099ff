#include "runtime/cuda/compile_queue.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using cuda::BackgroundKernel;
using cuda::CompileQueue;
using std::chrono::milliseconds;
using KernelState = BackgroundKernel::State;

namespace {

constexpr milliseconds kLong{30'000};

CUfunction fake_function(std::uintptr_t number) {
  return reinterpret_cast<CUfunction>(number);  // NOLINT: never called
}

/// Holds whoever comes until it is opened. Shared, since a queue's thread may outlive a test.
class Door {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(unsigned count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, kLong, [&] { return waiting_ >= count; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned waiting_ = 0;
  bool open_ = false;
};

/// What is written to standard error while it lives.
class StandardError {
 public:
  StandardError() : before_(::dup(STDERR_FILENO)), file_(std::tmpfile()) {
    REQUIRE(file_ != nullptr);
    ::dup2(::fileno(file_), STDERR_FILENO);
  }
  ~StandardError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    std::fclose(file_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;
  [[nodiscard]] std::string text() const {
    std::string all(1 << 16, '\0');
    const ssize_t size = ::pread(::fileno(file_), all.data(), all.size(), 0);
    all.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return all;
  }

 private:
  int before_;
  std::FILE* file_;
};

struct Setting {
  KernelCounters counters;
  std::shared_ptr<Door> door = std::make_shared<Door>();
  std::shared_ptr<std::vector<int>> made = std::make_shared<std::vector<int>>();
  std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();

  std::shared_ptr<BackgroundKernel> kernel(int number) const {
    return std::make_shared<BackgroundKernel>([number, all = made, lock = mutex] {
      const std::lock_guard guard(*lock);
      all->push_back(number);
      return fake_function(static_cast<std::uintptr_t>(number) + 1);
    });
  }
  std::shared_ptr<BackgroundKernel> blocker() const {
    return std::make_shared<BackgroundKernel>([way = door] {
      way->pass();
      return fake_function(1000);
    });
  }
};

}  // namespace

TEST_CASE("a wanted kernel is made on another thread, once") {
  Setting setting;
  CompileQueue queue({}, setting.counters);
  const auto caller = std::this_thread::get_id();
  std::thread::id maker;
  const auto kernel = std::make_shared<BackgroundKernel>([&] {
    maker = std::this_thread::get_id();
    return fake_function(7);
  });
  CHECK(kernel->state() == KernelState::idle);
  CHECK(kernel->function() == nullptr);
  queue.want(kernel);
  REQUIRE(queue.settle(kLong));
  CHECK(kernel->state() == KernelState::ready);
  CHECK(kernel->function() == fake_function(7));
  CHECK(maker != caller);
  maker = {};
  queue.want(kernel);
  REQUIRE(queue.settle(kLong));
  CHECK(maker == std::thread::id());
  CHECK(setting.counters.queued == 0);
}

TEST_CASE("the kernel that was used last is made first") {
  Setting setting;
  CompileQueue queue({.threads = 1, .bound = 10}, setting.counters);
  queue.want(setting.blocker());
  setting.door->wait_for(1);
  std::vector<std::shared_ptr<BackgroundKernel>> kernels;
  for (int i = 0; i < 4; ++i) {
    kernels.push_back(setting.kernel(i));
    queue.want(kernels.back());
  }
  CHECK(setting.counters.queued == 4);
  queue.want(kernels[1]);  // used again
  setting.door->open();
  REQUIRE(queue.settle(kLong));
  CHECK(*setting.made == std::vector<int>{1, 3, 2, 0});
}

TEST_CASE("a full queue drops what was used longest ago, and its next use brings it back") {
  Setting setting;
  CompileQueue queue({.threads = 1, .bound = 3}, setting.counters);
  queue.want(setting.blocker());
  setting.door->wait_for(1);
  std::vector<std::shared_ptr<BackgroundKernel>> kernels;
  for (int i = 0; i < 5; ++i) {
    kernels.push_back(setting.kernel(i));
    queue.want(kernels.back());
    CHECK(setting.counters.queued <= 3);
  }
  CHECK(setting.counters.dropped == 2);
  CHECK(kernels[0]->state() == KernelState::idle);
  CHECK(kernels[1]->state() == KernelState::idle);
  queue.want(kernels[0]);
  CHECK(kernels[0]->state() == KernelState::queued);
  CHECK(kernels[2]->state() == KernelState::idle);
  setting.door->open();
  // Who waits for all waits for those too.
  REQUIRE(queue.settle(kLong));
  CHECK(*setting.made == std::vector<int>{0, 4, 3, 2, 1});
  for (const auto& kernel : kernels) CHECK(kernel->state() == KernelState::ready);
  CHECK(setting.counters.queued == 0);
}

TEST_CASE("a kernel that nobody wanted is made once somebody waits for all") {
  Setting setting;
  CompileQueue queue({.threads = 1, .bound = 2}, setting.counters);
  std::vector<std::shared_ptr<BackgroundKernel>> kernels;
  for (int i = 0; i < 5; ++i) {
    kernels.push_back(setting.kernel(i));
    queue.know(kernels.back());
  }
  CHECK(setting.counters.queued == 0);
  kernels[4] = nullptr;
  queue.want(kernels[1]);
  REQUIRE(queue.settle(kLong));
  std::sort(setting.made->begin(), setting.made->end());
  CHECK(*setting.made == std::vector<int>{0, 1, 2, 3});
  CHECK(setting.counters.dropped == 0);
}

TEST_CASE("what was dropped is forgotten with its last owner, and remembered once") {
  Setting setting;
  CompileQueue queue({.threads = 1, .bound = 1}, setting.counters);
  queue.want(setting.blocker());
  setting.door->wait_for(1);
  const auto kept = setting.kernel(-1);
  for (int i = 0; i < 1000; ++i) {
    queue.want(kept);
    queue.want(setting.kernel(i));  // drops the one that is kept, and is dropped by it
  }
  CHECK(setting.counters.dropped == 1999);
  setting.door->open();
  REQUIRE(queue.settle(kLong));
  CHECK(*setting.made == std::vector<int>{999, -1});
}

TEST_CASE("as many kernels are made at once as there are threads") {
  Setting setting;
  CompileQueue queue({.threads = 3, .bound = 10}, setting.counters);
  for (int i = 0; i < 5; ++i) queue.want(setting.blocker());
  setting.door->wait_for(3);
  CHECK(setting.counters.queued == 2);
  setting.door->open();
  CHECK(queue.settle(kLong));
}

TEST_CASE("a kernel that cannot be made has failed for good, is counted and told of once") {
  Setting setting;
  const StandardError errors;
  CompileQueue queue({}, setting.counters);
  int tries = 0;
  const auto failing = [&] {
    return std::make_shared<BackgroundKernel>([&]() -> CUfunction {
      ++tries;
      throw DriverError("no compiler", 3);
    });
  };
  for (int round = 0; round < 3; ++round) {
    const auto kernel = failing();
    for (int use = 0; use < 3; ++use) {
      queue.want(kernel);
      REQUIRE(queue.settle(kLong));
    }
    CHECK(kernel->state() == KernelState::failed);
    CHECK(kernel->function() == nullptr);
  }
  CHECK(tries == 3);
  CHECK(setting.counters.failed == 3);
  const std::string told = errors.text();
  const std::size_t first = told.find("no compiler");
  CHECK(first != std::string::npos);
  CHECK(told.find("no compiler", first + 1) == std::string::npos);
}

TEST_CASE("a compilation that hangs holds nobody up, and may end after the queue") {
  Setting setting;
  const auto kernel = setting.blocker();
  const auto behind = setting.kernel(1);
  {
    CompileQueue queue({.threads = 1, .bound = 10}, setting.counters);
    queue.want(kernel);
    setting.door->wait_for(1);
    queue.want(behind);
    CHECK_FALSE(queue.settle(milliseconds(20)));
    queue.stop(milliseconds(20));
    CHECK(behind->state() == KernelState::idle);
    CHECK(setting.counters.dropped == 1);
    CHECK(setting.counters.queued == 0);
    queue.want(behind);  // taken no more
    CHECK(behind->state() == KernelState::idle);
  }
  CHECK(kernel->state() == KernelState::compiling);
  setting.door->open();
  for (int i = 0; i < 3000 && kernel->state() == KernelState::compiling; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  CHECK(kernel->state() == KernelState::ready);
  CHECK(setting.made->empty());
}
