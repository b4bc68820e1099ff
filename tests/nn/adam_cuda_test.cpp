// Adam's CUDA text, without a GPU: compiled by NVRTC, and run by the emulator.
#include <string>

#include "compute/prelude_text.hpp"
#include "runtime/cuda/nvrtc_compiler.hpp"
#include "tests/nn/adam_bench.hpp"
#include "tests/nn/adam_emulated.hpp"
#include "tests/nn/adam_wide.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using forebay::testing::AdamBench;

namespace {

const std::vector<std::size_t> kSizes{1,    2,    3,    4,    5,    7,           8,
                                      1023, 4095, 4096, 4097, 4099, 3 * 4096 + 5};

}  // namespace

TEST_CASE("Adam's kernel compiles for every architecture that is served") {
  const auto nvrtc = driver::NvrtcApi::open();
  const std::string source = std::string(compute::prelude_text()) + nn::adam_kernel().cuda_source;
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    INFO(architecture);
    const std::string cubin = cuda::compile_cubin(*nvrtc, source, "adam", {architecture, false});
    CHECK(cubin.find(nn::adam_kernel().name) != std::string::npos);
  }
}

#ifdef FOREBAY_HAVE_INTERPRETER
TEST_CASE("Adam's kernel comes with the library, so that the first step waits for no compiler") {
  CHECK(nn::adam_kernel().cuda_image.size() > 1000);
}
#endif

TEST_CASE("Adam's kernel gives the host's bits for every alignment and number of blocks") {
  const AdamBench::Skews skews[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2},
                                    {3, 3, 3, 3}, {0, 1, 0, 0}, {3, 2, 1, 0}};
  AdamBench expected(kSizes, {0, 0, 0, 0});
  for (int step = 0; step < 3; ++step) expected.step(nn::adam_kernel().host, 1);
  for (const AdamBench::Skews& skew : skews) {
    for (const unsigned blocks : {1U, 5U, 17U}) {
      INFO("skews " << skew[0] << skew[1] << skew[2] << skew[3] << ", blocks " << blocks);
      AdamBench bench(kSizes, skew);
      for (int step = 0; step < 3; ++step) bench.step(test::run_emulated_adam, blocks);
      CHECK(bench.values() == expected.values());
      CHECK(bench.borders_hold());
      CHECK(bench.state.step == 3);
      CHECK(bench.state.ticket == 0);
    }
  }
}

TEST_CASE("Adam's kernel updates elements beyond 2^31 as the host does") {
  testing::WideAdam host;
  if (!host) return;
  const std::vector<float> want = host.run(nn::adam_kernel().host, 1);
  for (const unsigned blocks : {1U, 3U}) {
    INFO("blocks " << blocks);
    testing::WideAdam emulated;
    if (!emulated) return;
    const std::vector<float> got = emulated.run(test::run_emulated_adam, blocks);
    testing::check_moved(got);
    CHECK(got == want);
  }
}
