// Uploads beside work that is enqueued already.
#include <cmath>
#include <vector>

#include "forebay/compute/tensor.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

// Writes 2 GiB again and again: about a millisecond each time.
struct Busy {
  explicit Busy(Device& device) : x(full({1 << 29}, 0.0F, device).eval()) {}
  void keep(int rounds) const {
    for (int i = 0; i < rounds; ++i) assign(x, x + 1.0F);
  }
  Tensor x;
};

bool working(Device& device) {
  auto& cuda = dynamic_cast<cuda::CudaDevice&>(device);
  cuda.make_current();
  return cuda.api().cuStreamQuery(static_cast<CUstream>(device.default_stream().native())) ==
         CUDA_ERROR_NOT_READY;
}

}  // namespace

TEST_CASE("an upload of several rings returns while earlier work goes on, and later work sees it") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const std::vector<float> numbers(std::size_t{32} << 20, 0.5F);  // 128 MiB, four rings
  const Busy busy(gpu.device);
  // Once without anything beside it, so that the ring is there.
  (void)from_host<float>(numbers, {32 << 20}, gpu.device);
  gpu.device.synchronize();
  busy.keep(300);
  const Tensor uploaded = from_host<float>(numbers, {32 << 20}, gpu.device);
  CHECK(working(gpu.device));
  // What reads it comes after the busy work and after the upload.
  const Tensor total = (uploaded + 1.0F).sum();
  CHECK(total.item<double>() == 1.5 * (32 << 20));
  CHECK_FALSE(working(gpu.device));
  CHECK(busy.x.max().item() == 300.0F);
}

TEST_CASE("uploads beside work never write what that work still reads") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  constexpr std::int64_t kCount = 4 << 20;
  const Busy busy(gpu.device);
  std::vector<Tensor> sums;
  std::vector<float> numbers(kCount);
  for (int round = 0; round < 40; ++round) {
    std::fill(numbers.begin(), numbers.end(), static_cast<float>(round));
    const Tensor batch = from_host<float>(numbers, {kCount}, gpu.device);
    busy.keep(2);
    // The batch is let go of while its sum waits behind the busy work.
    sums.push_back(batch.sum().eval());
  }
  for (int round = 0; round < 40; ++round) {
    CHECK(sums[static_cast<std::size_t>(round)].item() ==
          static_cast<float>(round) * static_cast<float>(kCount));
  }
}
