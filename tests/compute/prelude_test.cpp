#include <limits>

#include "tests/compute/support.hpp"

namespace {
#include "compute/prelude.inl"
}  // namespace

using namespace forebay;

TEST_CASE("Philox gives the published answers") {
  const FbPhilox zero = fb_philox(0, 0, 0);
  CHECK(zero.w[0] == 0x6627e8d5U);
  CHECK(zero.w[1] == 0xe169c58dU);
  CHECK(zero.w[2] == 0xbc57ac4cU);
  CHECK(zero.w[3] == 0x9b00dbd8U);
  // The low half of the counter and the key reach the result.
  CHECK(fb_philox(1, 0, 0).w[0] != zero.w[0]);
  CHECK(fb_philox(1ULL << 32, 0, 0).w[0] != zero.w[0]);
  CHECK(fb_philox(0, 1, 0).w[0] != zero.w[0]);
  CHECK(fb_philox(0, 0, 1).w[0] != zero.w[0]);
}

TEST_CASE("uniform numbers stay below one, normal ones are finite") {
  for (unsigned long long i = 0; i < 100'000; ++i) {
    const float u = fb_random_uniform(1, 2, i);
    REQUIRE((u >= 0.0F && u < 1.0F));
    REQUIRE(std::isfinite(fb_random_normal(1, 2, i)));
  }
}

TEST_CASE("cosine of turns") {
  for (int i = 0; i < 1000; ++i) {
    const float t = static_cast<float>(i) * 0.001F;
    REQUIRE(std::abs(fb_cos_turns(t) - std::cos(2 * 3.14159265358979 * t)) < 3e-7);
  }
}
