#include "compute/worker_team.hpp"

#include <atomic>
#include <csignal>
#include <set>
#include <stdexcept>

#include "tests/support/catch.hpp"

using forebay::compute::WorkerTeam;

TEST_CASE("every member does a job once, the caller is the first") {
  for (const unsigned size : {0U, 1U, 2U, 7U}) {
    WorkerTeam team(size);
    CHECK(team.size() == (size == 0 ? 1 : size));
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> calls(team.size());
      std::thread::id first;
      team.run([&](unsigned member) {
        ++calls.at(member);
        if (member == 0) first = std::this_thread::get_id();
      });
      for (const auto& count : calls) REQUIRE(count == 1);
      REQUIRE(first == std::this_thread::get_id());
    }
  }
}

TEST_CASE("an exception of any member reaches the caller once all have ended") {
  WorkerTeam team(4);
  for (unsigned failing = 0; failing < 4; ++failing) {
    std::atomic<int> ended{0};
    CHECK_THROWS_AS(team.run([&](unsigned member) {
      ++ended;
      if (member == failing) throw std::runtime_error("no");
    }),
                    std::runtime_error);
    CHECK(ended == 4);
  }
  std::atomic<int> ended{0};
  team.run([&](unsigned) { ++ended; });
  CHECK(ended == 4);
}

TEST_CASE("a team that never worked has no threads to end, and workers take no signals") {
  { const WorkerTeam team(8); }
  WorkerTeam team(2);
  bool blocked = false;
  team.run([&](unsigned member) {
    if (member == 0) return;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGINT) == 1;
  });
  CHECK(blocked);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGINT) == 0);
}
