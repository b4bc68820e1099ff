// Tensors around and beyond 2^31 elements on a device, by each tier: indices, offsets and strides.
#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using forebay::test::GpuCompute;

namespace {

constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;

bool lacks_gibibytes(const GpuCompute& gpu, std::size_t needed) {
  if (gpu.device.free_bytes() >= needed << 30) return false;
  std::printf("SKIPPED: %zu GiB of device memory are needed\n", needed);
  return true;
}

Config tier_config(FusionTier tier) {
  Config config = test::device_config();
  config.fusion.tier = tier;
  return config;
}

}  // namespace

TEST_CASE("on a GPU bytes just below, at and above 2^31 elements are all computed") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu(tier_config(GENERATE(FusionTier::interpret, FusionTier::compile)));
  if (lacks_gibibytes(gpu, 10)) return;
  using Bytes = std::vector<std::uint8_t>;
  const auto byte = [&](int value) {
    return full({1}, static_cast<std::uint8_t>(value), gpu.device);
  };
  // The same program again and again: a small call says nothing about a large one.
  for (const std::int64_t n :
       {std::int64_t{70}, kTwo31 - 1, std::int64_t{70}, kTwo31, kTwo31 + 1}) {
    INFO(n << " elements");
    const Tensor x = full({n}, std::uint8_t{7}, gpu.device).eval();
    assign(narrow(x, 0, n - 1, 1), byte(9));
    assign(narrow(x, 0, n / 2, 1), byte(8));
    const Tensor y = (x + x).eval();
    CHECK(narrow(y, 0, n - 3, 3).to_host<std::uint8_t>() == Bytes{14, 14, 18});
    CHECK(narrow(y, 0, n / 2 - 1, 3).to_host<std::uint8_t>() == Bytes{14, 16, 14});
    CHECK(y.sum().item<std::int64_t>() == 14 * n + 6);
    CHECK(y.argmax().item<std::int64_t>() == n - 1);
    // Backward, so that by strides.
    const Tensor back = (flip(x, 0) + std::uint8_t{1}).eval();
    CHECK(narrow(back, 0, 0, 3).to_host<std::uint8_t>() == Bytes{10, 8, 8});
    CHECK(narrow(back, 0, n - 1 - n / 2, 1).to_host<std::uint8_t>() == Bytes{9});
    CHECK(back.argmax().item<std::int64_t>() == 0);
  }
}

TEST_CASE("on a GPU views of four dimensions reach beyond 2^31 elements") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu(tier_config(GENERATE(FusionTier::interpret, FusionTier::compile)));
  if (lacks_gibibytes(gpu, 12)) return;
  const auto along = [&](std::int64_t extent, int factor, const Dims& shape) {
    return (arange(0, extent, 1, gpu.device, DType::i32) * factor).eval().reshape(shape);
  };
  const auto value = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return static_cast<std::uint8_t>(101 * a + 3 * b + 7 * c + 11 * d);
  };
  const Tensor x = (along(5, 101, {5, 1, 1, 1}) + along(1000, 3, {1, 1000, 1, 1}) +
                    along(1000, 7, {1, 1, 1000, 1}) + along(1000, 11, {1, 1, 1, 1000}))
                       .to(DType::u8)
                       .eval();
  REQUIRE(x.numel() == 5'000'000'000);
  const Tensor few =
      slice(slice(slice(slice(x, 0, 0, 5, 4), 1, 999, kSliceEnd, -499), 2, 0, 1000, 333), 3, 5,
            1000, 497);
  REQUIRE(few.shape() == Dims{2, 3, 4, 3});
  const std::vector<std::uint8_t> got = (few + std::uint8_t{1}).to_host<std::uint8_t>();
  const std::vector<std::uint8_t> turned =
      (few.transpose(0, 3) + std::uint8_t{1}).to_host<std::uint8_t>();
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < few.numel(); ++i) {
    const std::int64_t a = i / 36;
    const std::int64_t b = i / 12 % 3;
    const std::int64_t c = i / 3 % 4;
    const std::int64_t d = i % 3;
    const std::uint8_t want = value(4 * a, 999 - 499 * b, 333 * c, 5 + 497 * d);
    sum += want;
    REQUIRE(got[static_cast<std::size_t>(i)] == static_cast<std::uint8_t>(want + 1));
    const std::int64_t there = ((d * 3 + b) * 4 + c) * 2 + a;
    REQUIRE(turned[static_cast<std::size_t>(there)] == static_cast<std::uint8_t>(want + 1));
  }
  CHECK(few.sum().item<std::int64_t>() == sum);
  // As a whole, forward and with every row backward.
  CHECK(flip(x, 3).sum().item<std::int64_t>() == x.sum().item<std::int64_t>());
  CHECK(narrow(x, 0, 4, 1).reshape({1'000'000'000}).sum().item<std::int64_t>() ==
        slice(x, 0, 4, 5).sum().item<std::int64_t>());
}

TEST_CASE("on a GPU writes through strides reach beyond 2^31 and 2^32 elements") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (lacks_gibibytes(gpu, 16)) return;
  using Bytes = std::vector<std::uint8_t>;
  for (const std::int64_t rows : {kTwo31 / 3, kTwo31, kTwo31 + 3}) {
    INFO(rows << " rows");
    const Tensor x = full({rows, 3}, std::uint8_t{1}, gpu.device).eval();
    const Tensor part = narrow(x, 1, 0, 2);  // of more than 2^32 elements at last
    fill_(part, 5);
    CHECK(x.sum().item<std::int64_t>() == rows * 11);
    assign(narrow(part, 0, rows - 2, 2), full({2, 2}, std::uint8_t{7}, gpu.device));
    CHECK(narrow(x, 0, rows - 3, 3).reshape({9}).to_host<std::uint8_t>() ==
          Bytes{5, 5, 1, 7, 7, 1, 7, 7, 1});
    CHECK(narrow(x, 0, 0, 1).reshape({3}).to_host<std::uint8_t>() == Bytes{5, 5, 1});
  }
}
