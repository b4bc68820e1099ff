// Training that is captured once and replayed, on a device.
#include "forebay/runtime/runtime.hpp"
#include "tests/nn/training_cases.hpp"
#include "tests/support/device.hpp"

using namespace forebay;

TEST_CASE("on a GPU a captured training step replays the same bits as the step itself") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  testing::check_captured_training(runtime.device("cuda"), 100);
}

TEST_CASE("on a GPU a thousand replayed training steps leave nothing behind") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  testing::check_captured_training_without_history(runtime.device("cuda"), 1000);
}
