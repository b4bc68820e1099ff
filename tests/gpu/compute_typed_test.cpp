// Random programs on a device, interpreted and compiled, against a reference in f64 on the host.
// FOREBAY_FUZZ_PROGRAMS says how many are interpreted, FOREBAY_FUZZ_KERNELS about how many kernels
// are compiled.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/compute/typed_game.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;

TEST_CASE("random expressions on a device agree with a reference in f64") {
  FOREBAY_REQUIRE_DEVICE();
  const auto number_of = [](const char* name, unsigned otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  };
  const auto tier = GENERATE(FusionTier::interpret, FusionTier::compile);
  Config config = device_config();
  config.fusion.tier = tier;
  const GpuCompute gpu(config);
  const bool compiled = tier == FusionTier::compile;
  if (!compiled && gpu.executor("cuda-interpreter") == nullptr) {
    std::printf("SKIPPED: built without nvcc\n");
    return;
  }
  // Nearly every expression of a long program is compiled anew: one stands for ten kernels.
  const unsigned seeds = compiled ? std::max(number_of("FOREBAY_FUZZ_KERNELS", 50) / 10, 1U)
                                  : number_of("FOREBAY_FUZZ_PROGRAMS", 500);
  std::printf("seeds 0 to %u, %s\n", seeds - 1, compiled ? "compiled" : "interpreted");
  for (unsigned seed = 0; seed < seeds; ++seed) {
    INFO("seed " << seed);
    const int steps = compiled ? 40 : static_cast<int>(1 + seed % 200);
    REQUIRE(testing::TypedGame(gpu.device, seed).play(steps) == "");
  }
}
