// Row programs on a device: one launch, with the bits of their stages.
#include <array>
#include <random>
#include <vector>

#include "forebay/compute/normalize.hpp"
#include "forebay/compute/prepare.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

constexpr std::array<DType, 4> kReals{DType::f64, DType::f32, DType::f16, DType::bf16};

/// Every normalisation of the same numbers in every type, one after the other.
std::vector<std::vector<float>> normalised(Device& device, const Dims& shape) {
  std::mt19937 random(static_cast<unsigned>(shape[0]));
  std::normal_distribution<float> normal(0.5F, 5.0F);
  std::vector<float> numbers(static_cast<std::size_t>(checked_numel(shape)));
  for (float& number : numbers) number = normal(random);
  const std::int64_t length = shape[shape.size() - 1];
  const Tensor source = from_host<float>(numbers, shape, device);
  const Tensor weight = arange(0, length, 1, device, DType::f32) * 0.01F;
  std::vector<std::vector<float>> results;
  const auto keep = [&](const Tensor& y) {
    results.push_back(y.to(DType::f32).eval().to_host<float>());
  };
  for (const DType type : kReals) {
    const Tensor x = source.to(type).eval();
    keep(softmax(x));
    keep(log_softmax(x));
    keep(layer_norm(x));
    keep(layer_norm(x, 1, weight, weight.to(DType::f16)));
  }
  return results;
}

void check_rows(const std::vector<Dims>& shapes) {
  Config staged = device_config();
  staged.fusion.tier = FusionTier::interpret;
  Config together = device_config();
  together.fusion.tier = FusionTier::compile;
  GpuCompute apart(staged);
  GpuCompute one(together);
  for (const Dims& shape : shapes) {
    const auto want = normalised(apart.device, shape);
    const auto got = normalised(one.device, shape);
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO("normalisation " << k << " of " << to_string(shape));
      CHECK(std::memcmp(want[k].data(), got[k].data(), want[k].size() * sizeof(float)) == 0);
    }
  }
}

}  // namespace

TEST_CASE("on a GPU rows in one pass have the bits of their stages") {
  FOREBAY_REQUIRE_DEVICE();
  check_rows({{3, 2}, {100, 7}, {2, 5, 64}, {9, 300}, {5, 2048}, {7, 3001}, {70, 4096}});
}

TEST_CASE("on a GPU many long rows in one pass have the bits of their stages") {
  FOREBAY_REQUIRE_DEVICE();
  check_rows({{2100, 6000}, {2100, 8192}, {2, 50'000}});
}

TEST_CASE("on a GPU rows go stage by stage until their kernel is there") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (gpu.executor("cuda-interpreter") == nullptr) {
    std::printf("SKIPPED: built without nvcc\n");
    return;
  }
  const Tensor x = full({100, 1000}, 3.0F, gpu.device).eval();
  const FusionCounters& fusion = gpu.device.counters().fusion;
  std::uint64_t before = fusion.launches;
  const std::vector<float> first = softmax(x).to_host<float>();
  CHECK(fusion.launches == before + 3);
  for (int i = 0; i < 3; ++i) (void)softmax(x);
  REQUIRE(prepare(gpu.device));
  before = fusion.launches;
  CHECK(softmax(x).to_host<float>() == first);
  CHECK(fusion.launches == before + 1);
}
