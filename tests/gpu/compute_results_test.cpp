// Single results come back through mailboxes in host memory, or are read from the device.
#include <numeric>

#include "forebay/compute/tensor.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;

TEST_CASE("single results arrive, however long ago they were asked for") {
  FOREBAY_REQUIRE_DEVICE();
  test::GpuCompute gpu;
  std::vector<float> values(100'000);
  std::iota(values.begin(), values.end(), 0.0F);
  std::vector<std::int32_t> integers(1000);
  std::iota(integers.begin(), integers.end(), -10);
  const Tensor x = from_host<float>(values, {100'000}, gpu.device);
  const Tensor n = from_host<std::int32_t>(integers, {1000}, gpu.device);
  const Tensor early = (x + 1.0F).sum();
  const Tensor early_integer = n.sum();
  // Far more results than there are boxes, each read at once.
  for (int i = 0; i < 3000; ++i) {
    const auto shift = static_cast<float>(i % 7);
    REQUIRE((full({64}, shift, gpu.device).eval() * 2.0F).sum().item() == 128.0F * shift);
  }
  CHECK(early.item() == 5'000'050'000.0F);
  CHECK(early_integer.item<std::int32_t>() == 489'500);
}

TEST_CASE("a result that was written over is read anew") {
  FOREBAY_REQUIRE_DEVICE();
  test::GpuCompute gpu;
  const Tensor total = full({64}, 2.0F, gpu.device).eval().sum();
  CHECK(total.item() == 128.0F);
  assign(total, full({}, 5.0F, gpu.device));
  CHECK(total.item() == 5.0F);
  const Tensor copy = total.reshape({1});
  assign(total, copy.reshape({}) + 1.0F);
  CHECK(total.item() == 6.0F);
  CHECK(copy.item() == 6.0F);
}

TEST_CASE("a result behind long work is waited for") {
  FOREBAY_REQUIRE_DEVICE();
  test::GpuCompute gpu;
  Tensor x = ones({std::int64_t{1} << 26}, gpu.device);
  for (int i = 0; i < 50; ++i) x = (x + 1.0F).eval();
  CHECK(x.sum().item() == 51.0F * (1 << 26));
}
