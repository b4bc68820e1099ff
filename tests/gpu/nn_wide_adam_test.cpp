// One parameter of more than 2^31 elements: Adam reaches the last of them.
#include <cstdio>

#include "forebay/compute/shaping.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/nn/adam_cases.hpp"
#include "tests/support/device.hpp"

using namespace forebay;

TEST_CASE("Adam on a device updates a parameter of more than 2^31 elements to the end") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  Device& device = runtime.device("cuda");
  constexpr std::size_t kNeeded = 60;
  if (device.free_bytes() < kNeeded << 30) {
    std::printf("SKIPPED: %zu GiB of device memory are needed\n", kNeeded);
    return;
  }
  const std::int64_t count = (std::int64_t{1} << 31) + 4099;
  const Tensor p = nn::requires_grad(zeros({count}, device).eval());
  nn::Adam adam({p}, nn::AdamOptions(1e-2));
  nn::backward(p, full({count}, 1.0F, device));
  for (int step = 0; step < 2; ++step) adam.step();
  const Tensor now = p.detach();
  for (const std::int64_t from : {std::int64_t{0}, (std::int64_t{1} << 31) - 2, count - 4}) {
    INFO("from " << from);
    for (const float value : narrow(now, 0, from, 4).to_host<float>()) {
      CHECK(value == Approx(-2e-2).epsilon(1e-4));
    }
  }
  // And so has every element between.
  CHECK(now.min().item() == Approx(-2e-2).epsilon(1e-4));
  CHECK(now.max().item() == Approx(-2e-2).epsilon(1e-4));
}
