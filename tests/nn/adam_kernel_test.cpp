#include "nn/adam_kernel.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/nn/adam_bench.hpp"
#include "tests/nn/adam_wide.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

// One tensor of equal elements with equal gradients, updated by the kernel's host side.
struct Uniform {
  std::vector<float> p, g, m, v;
  std::array<nn::FbAdamPowers, 2> powers;
  nn::FbAdamState state = testing::adam_start();
  float lr = 1e-3F;

  explicit Uniform(std::size_t size, float start, float gradient)
      : p(size, start), g(size, gradient), m(size), v(size) {
    powers.fill(nn::fb_adam_powers(state.beta1, state.beta2));
  }
  void step() {
    const nn::FbAdamRow row{p.data(), g.data(),      m.data(),
                            v.data(), powers.data(), static_cast<long long>(p.size())};
    std::vector<nn::FbAdamChunk> chunks;
    for (unsigned c = 0; c * FB_ADAM_CHUNK < p.size(); ++c) chunks.push_back({0, c});
    const auto* rows = &row;
    const auto* list = chunks.data();
    auto count = static_cast<unsigned>(chunks.size());
    const float* rate = &lr;
    auto* progress = &state;
    const std::array<void*, 5> arguments{&rows, &list, &count, &rate, &progress};
    nn::adam_kernel().host(arguments, 3);
  }
};

}  // namespace

TEST_CASE("the kernel advances step and powers by itself") {
  Uniform bench(3 * FB_ADAM_CHUNK + 1, 1, 0.5F);
  for (int t = 1; t <= 7; ++t) {
    bench.step();
    CHECK(bench.state.step == static_cast<unsigned long long>(t));
    // What the next step will read.
    const nn::FbAdamPowers& next = bench.powers[t & 1];
    CHECK(next.beta1 == Approx(std::pow(0.9, t + 1)));
    CHECK(next.scale1 == Approx(1 / (1 - std::pow(0.9, t + 1))));
    CHECK(next.scale2 == Approx(1 / std::sqrt(1 - std::pow(0.999, t + 1))));
  }
  CHECK(bench.p.front() == Approx(1 - 7e-3).epsilon(1e-6));
  CHECK(bench.p.back() == Approx(1 - 7e-3).epsilon(1e-6));
}

TEST_CASE("dithered subtraction is one of the two neighbours, and right on average") {
  const float a = 1.5F;
  for (const float b : {1e-3F, -1e-3F, 7e-8F, 3.1e-8F, 1e-12F, 0.3F}) {
    const double exact = static_cast<double>(a) - b;
    double sum = 0;
    constexpr int kCount = 4096;
    for (int i = 0; i < kCount; ++i) {
      const float s = nn::fb_subtract_dithered(a, b, nn::fb_adam_dither(i, 17));
      CHECK(std::abs(s - exact) < 1.2e-7);
      sum += s - exact;
    }
    INFO(b);
    CHECK(std::abs(sum / kCount) < 1.2e-7 / 1000);
  }
}

TEST_CASE("an exact difference is not touched") {
  for (unsigned i = 0; i < 1000; ++i) {
    const unsigned dither = i * 0x01234567U;
    CHECK(nn::fb_subtract_dithered(1.0F, 0.0F, dither) == 1.0F);
    CHECK(nn::fb_subtract_dithered(1.0F, 0.25F, dither) == 0.75F);
    CHECK(nn::fb_subtract_dithered(-8.0F, 8.0F, dither) == -16.0F);
    CHECK(nn::fb_subtract_dithered(1e-45F, 1e-45F, dither) == 0.0F);
  }
}

TEST_CASE("equal updates do not drift, where rounding to the nearest would") {
  // lr / ulp(p) has a fraction near one half, the worst there is.
  Uniform bench(64, 2.0F, 1.0F);
  bench.lr = 0x1p-10F + 0x1p-25F + 0x1p-26F;
  double exact = 2.0;
  double nearest = 2.0;
  for (int t = 0; t < 1000; ++t) {
    bench.step();
    exact -= bench.lr;
    nearest = static_cast<float>(nearest - bench.lr);
  }
  for (const float p : bench.p) CHECK(std::abs(p - exact) < 4e-6);
  CHECK(std::abs(nearest - exact) > 4e-6);
}

TEST_CASE("elements of one parameter are updated beyond 2^31 of them") {
  testing::WideAdam bench;
  if (bench) testing::check_moved(bench.run(nn::adam_kernel().host, 1));
}

TEST_CASE("the CUDA text holds the entry point and ends where the file does") {
  const std::string_view text = nn::adam_kernel().cuda_source;
  CHECK(text.find("fb_adam(const FbAdamRow* rows") != std::string_view::npos);
  CHECK(text.ends_with("#endif\n"));
  CHECK(nn::adam_kernel().block == 256);
}
