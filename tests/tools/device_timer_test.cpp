#include "tools/forebay/device_timer.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("the host's timer counts what the work took") {
  Runtime runtime = Runtime::create();
  const auto timer = make_device_timer(runtime.device("host"));
  const auto wait = [](int ms) {
    return [ms] { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  };
  CHECK(timer->seconds(wait(20)) >= 0.02);
  CHECK_THROWS_AS(timer->seconds([] { throw std::runtime_error("no"); }), std::runtime_error);
}
