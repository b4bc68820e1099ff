// Programs that leave a device open end cleanly and quietly.
#include "tests/support/cuda_end.hpp"

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
