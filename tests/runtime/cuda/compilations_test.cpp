#include "runtime/cuda/compilations.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/support/catch.hpp"

using forebay::cuda::Compilation;
using std::chrono::milliseconds;

namespace {

/// Runs `work`, which ends the process, in a child of its own; its exit code and how long it took.
template <typename Work>
std::pair<int, milliseconds> in_child(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    work();
    ::_exit(99);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  const auto spent = std::chrono::steady_clock::now() - start;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          std::chrono::duration_cast<milliseconds>(spent)};
}

/// A compilation on another thread that ends the process with 0 if its exit waited for it.
void compile_for(milliseconds time, int code) {
  std::thread([=] {
    const Compilation compilation;
    std::this_thread::sleep_for(time);
    ::_exit(code);
  }).detach();
  std::this_thread::sleep_for(milliseconds(50));
}

}  // namespace

TEST_CASE("compilations begin, and end") {
  for (int i = 0; i < 3; ++i) {
    const Compilation one;
    const Compilation two;
    CHECK(one.began());
    CHECK(two.began());
  }
}

TEST_CASE("the main thread's end waits for a compilation if it caused one") {
  CHECK(in_child([] {
          Compilation::wait_at_thread_end();
          compile_for(milliseconds(400), 7);
          std::exit(8);
        }).first == 7);
}

TEST_CASE("another thread's end waits for what runs then if it caused some, and only then") {
  const auto ends = [](bool caused) {
    return in_child([caused] {
             compile_for(milliseconds(400), 7);
             std::thread([caused] {
               if (caused) Compilation::wait_at_thread_end();
             }).join();
             ::_exit(8);
           })
        .first;
  };
  CHECK(ends(true) == 7);
  CHECK(ends(false) == 8);
}

TEST_CASE("nothing begins once the main thread has ended") {
  CHECK(in_child([] {
          Compilation::wait_at_thread_end();
          std::atexit([] {
            const Compilation late;
            ::_exit(late.began() ? 1 : 5);
          });
          std::exit(0);
        }).first == 5);
}

TEST_CASE("a compilation that hangs does not keep the process from ending, which leaves the rest") {
  const auto [code, spent] = in_child([] {
    Compilation::wait_at_thread_end();
    std::atexit([] { ::_exit(9); });  // as NVRTC's: it must not run beside the compilation
    compile_for(milliseconds(3'600'000), 7);
    std::exit(8);
  });
  CHECK(code == 8);
  CHECK(spent >= milliseconds(Compilation::kExitWaitMs));
}

TEST_CASE("any thread's exit waits once a compilation has ended") {
  CHECK(in_child([] {
          { const Compilation first; }  // makes the handler
          compile_for(milliseconds(400), 7);
          std::thread([] { std::exit(8); }).join();
        }).first == 7);
}
