// Gradients and training on a device: the same checks that hold on the host.
#include "forebay/runtime/runtime.hpp"
#include "tests/nn/gradient_cases.hpp"
#include "tests/nn/training_cases.hpp"
#include "tests/support/device.hpp"

using namespace forebay;

TEST_CASE("gradients on a device agree with central differences") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  Device& device = runtime.device("cuda");
  testing::check_elementwise_gradients(device);
  testing::check_broadcast_gradients(device);
  testing::check_structural_gradients(device);
  testing::check_matmul_gradients(device);
}

TEST_CASE("training on a device leaves no history behind") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  Device& device = runtime.device("cuda");
  testing::check_module_drop_orders(device);
  testing::check_training_without_history(device, 120);
}

TEST_CASE("weights drawn on a device are those of the host") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  const nn::Linear here(nn::LinearOptions(64, 256), runtime.device("host"), 5);
  const nn::Linear there(nn::LinearOptions(64, 256), runtime.device("cuda"), 5);
  CHECK(here->weight.to_host<float>() == there->weight.to_host<float>());
  CHECK(here->bias.to_host<float>() == there->bias.to_host<float>());
}
