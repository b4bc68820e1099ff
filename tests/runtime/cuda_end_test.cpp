// Programs that leave a CUDA device open, on a fake libcuda.so.1 that tells of every call after it
// has ended.
#include "tests/support/cuda_end.hpp"

#include <chrono>

#include "tests/support/catch.hpp"

namespace {

void ends_well(const std::string& scenario) {
  const auto [code, errors] = forebay::test::run_cuda_end(
      scenario, "FOREBAY_FAKE_DRIVER_TELLS=1 LD_LIBRARY_PATH='" FOREBAY_FAKE_DRIVER_FOLDER "'");
  INFO(scenario);
  CHECK(code == 0);
  CHECK(errors == "");
}

}  // namespace

TEST_CASE("no driver call runs after the driver has gone") {
  ends_well("static");
  ends_well("leaked");
  ends_well("at-once");
}

TEST_CASE("a forked child of a program that uses CUDA is told so") { ends_well("child"); }

TEST_CASE("a CUDA device may be opened again") { ends_well("again"); }

TEST_CASE("a scenario that nobody knows is not taken for success") {
  CHECK(forebay::test::run_cuda_end("nonsense").first == 98);
}

// ThreadSanitizer does not see into NVRTC, and takes what its threads do for races.
#ifndef __SANITIZE_THREAD__
TEST_CASE("a process ends well while a kernel is compiled in the background") {
  ends_well("compiling");
  ends_well("compiling-close");
  ends_well("compiling-exit");
}
#endif

TEST_CASE("a compilation that hangs keeps no process from ending") {
  const auto start = std::chrono::steady_clock::now();
  ends_well("hanging");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}
