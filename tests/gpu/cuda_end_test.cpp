// Programs that leave a device open end cleanly and quietly.
#include "tests/support/cuda_end.hpp"

#include <chrono>

#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"

namespace {

void ends_well(const std::string& scenario) {
  const auto [code, errors] = forebay::test::run_cuda_end(scenario);
  INFO(scenario);
  CHECK(code == 0);
  CHECK(errors == "");
}

}  // namespace

TEST_CASE("devices left open by static objects, by leaks and by _exit end well") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("static");
  ends_well("leaked");
  ends_well("at-once");
}

TEST_CASE("a forked child is told that CUDA is its parent's") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("child");
}

TEST_CASE("a device may be opened again") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("again");
}

// ThreadSanitizer does not see into NVRTC, and takes what its threads do for races.
#ifndef __SANITIZE_THREAD__
TEST_CASE("a process ends well while a kernel is compiled in the background, on a device") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("compiling");
  ends_well("compiling-close");
  ends_well("compiling-exit");
}
#endif

TEST_CASE("a compilation that hangs keeps no process from ending, on a device") {
  FOREBAY_REQUIRE_DEVICE();
  const auto start = std::chrono::steady_clock::now();
  ends_well("hanging");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}
