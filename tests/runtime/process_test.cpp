#include "runtime/process.hpp"

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {
struct Locked {
  std::mutex mutex;
  int value = 0;
};
constinit process::PerProcess<Locked> locked;
}  // namespace

TEST_CASE("The generation changes in a child, in its child, and not in the parent") {
  process::watch_forks();
  const auto before = process::generation();
  const auto ended = test::in_child([&] {
    const auto child = process::generation();
    if (child == before) return 1;
    const auto grandchild = test::in_child(
        [&] { return process::generation() == child || process::generation() == before ? 1 : 0; });
    return grandchild.code == 0 ? 0 : 2;
  });
  CHECK(ended.code == 0);
  CHECK(process::generation() == before);
}

TEST_CASE("What is one for the process is new in a child, even if its lock was held") {
  locked.get().value = 7;
  Locked* const parents = &locked.get();
  const std::lock_guard lock(locked.get().mutex);
  const auto ended = test::in_child([&] {
    Locked& mine = locked.get();
    const std::lock_guard child_lock(mine.mutex);
    return &mine != parents && mine.value == 0 ? 0 : 1;
  });
  CHECK(ended.code == 0);
  CHECK(&locked.get() == parents);
  CHECK(locked.get().value == 7);
}

TEST_CASE("Threads that come first together get the same object") {
  static constinit process::PerProcess<Locked> fresh;
  std::vector<std::thread> threads;
  std::vector<Locked*> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = &fresh.get(); });
  }
  for (auto& thread : threads) thread.join();
  for (const Locked* one : seen) CHECK(one == &fresh.get());
}
