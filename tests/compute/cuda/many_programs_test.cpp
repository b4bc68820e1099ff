// A process that makes new structures for ever: what it leaves on a device is bounded.
#include "forebay/compute/tensor.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

#ifdef FOREBAY_HAVE_INTERPRETER

using namespace forebay;
using namespace forebay::test;

TEST_CASE("10,000 structures on a CUDA device leave 4096 programs and not one kernel") {
  const auto tier = GENERATE(FusionTier::automatic, FusionTier::interpret);
  Config config = test::fake_config();
  config.fusion.tier = tier;
  FakeCuda cuda(config, true);
  const auto& counters = cuda.device->counters();
  const Tensor a = from_host<float>(std::vector<float>{1, 2, 3}, {3}, *cuda.device);
  // Each is another one: the bits of its number are its operations.
  const auto structure = [&](int number) {
    Tensor t = a;
    for (int bit = 0; bit < 14; ++bit) {
      t = ((number >> bit) & 1) != 0 ? std::move(t) + 1.0F : std::move(t) * 1.0F;
    }
    return t;
  };
  structure(0).eval();
  const std::uint64_t blocks = cuda.live_blocks();
  const std::uint64_t calls = cuda.device->pool().stats().driver_calls();
  const std::uint64_t loaded = counters.kernels.loaded;
  constexpr int kStructures = 10'000;
  for (int i = 1; i < kStructures; ++i) structure(i).eval();
  CHECK(counters.fusion.programs == 4096);
  CHECK(counters.fusion.launches == kStructures);
  CHECK(counters.kernels.interpreted_launches == kStructures);
  CHECK(counters.kernels.compiled == 0);
  CHECK(counters.kernels.queued == 0);
  CHECK(counters.kernels.loaded == loaded);
  CHECK(cuda.live_blocks() == blocks);
  CHECK(cuda.device->pool().stats().driver_calls() == calls);
  // One that was forgotten is made again.
  structure(0).eval();
  CHECK(counters.fusion.programs == 4096);
  CHECK(counters.fusion.launches == kStructures + 1);
}

#endif
