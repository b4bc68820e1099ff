#include "compute/host/threads.hpp"

#include <pthread.h>

#include <csignal>
#include <set>
#include <stdexcept>

#include "tests/compute/support.hpp"

using namespace forebay::compute::host;

TEST_CASE("every item runs once, with any number of threads") {
  for (const unsigned count : {1U, 2U, 7U}) {
    Threads threads(count);
    CHECK(threads.count() == count);
    for (const std::size_t items : {0U, 1U, 2U, 5U, 1000U}) {
      std::vector<std::atomic<int>> runs(items);
      threads.run(items, [&](std::size_t i) { ++runs[i]; });
      for (const auto& n : runs) REQUIRE(n.load() == 1);
    }
  }
}

TEST_CASE("loop after loop on the same threads") {
  Threads threads(3);
  std::atomic<std::size_t> sum{0};
  for (std::size_t loop = 0; loop < 2000; ++loop) {
    threads.run(4, [&](std::size_t i) { sum += i; });
  }
  CHECK(sum.load() == 2000 * 6);
}

TEST_CASE("one thread means the caller's") {
  Threads threads(1);
  std::set<std::thread::id> ids;
  threads.run(10, [&](std::size_t /*i*/) { ids.insert(std::this_thread::get_id()); });
  CHECK(ids == std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST_CASE("by default there are as many threads as cores") { CHECK(Threads(0).count() >= 1); }

TEST_CASE("workers block signals, the caller's mask stays") {
  Threads threads(2);
  std::atomic<int> blocked{0};
  std::atomic<int> open{0};
  const auto caller = std::this_thread::get_id();
  std::atomic<int> met{0};
  threads.run(2, [&](std::size_t /*i*/) {
    // Both threads take one item each.
    ++met;
    while (met.load() < 2) std::this_thread::yield();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (std::this_thread::get_id() == caller) {
      open += sigismember(&mask, SIGUSR1) == 0 ? 1 : 0;
    } else {
      blocked += sigismember(&mask, SIGUSR1);
    }
  });
  CHECK(blocked.load() == 1);
  CHECK(open.load() == 1);
}

TEST_CASE("an item's exception reaches the caller when no item runs any more") {
  for (const unsigned count : {1U, 3U}) {
    Threads threads(count);
    for (std::size_t failing = 0; failing < 8; ++failing) {
      std::atomic<int> started{0};
      std::atomic<int> running{0};
      CHECK_THROWS_AS(threads.run(1000,
                                  [&](std::size_t i) {
                                    ++started;
                                    if (i == failing) throw std::runtime_error("no");
                                    ++running;
                                    std::this_thread::yield();
                                    --running;
                                  }),
                      std::runtime_error);
      CHECK(running == 0);
      CHECK(started >= 1);
    }
    std::atomic<int> runs{0};
    threads.run(1000, [&](std::size_t /*i*/) { ++runs; });
    CHECK(runs == 1000);
  }
}

TEST_CASE("exceptions of the caller's item and of a worker's at once") {
  Threads threads(2);
  std::atomic<int> met{0};
  CHECK_THROWS_AS(threads.run(2,
                              [&](std::size_t /*i*/) {
                                // Both threads take one item each.
                                ++met;
                                while (met.load() < 2) std::this_thread::yield();
                                throw std::runtime_error("no");
                              }),
                  std::runtime_error);
  CHECK(met == 2);
}
