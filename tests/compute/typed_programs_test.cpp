// Random programs on the host against a reference that has nothing in common with it.
#include "tests/compute/support.hpp"
#include "tests/compute/typed_game.hpp"

#ifndef FOREBAY_TYPED_PROGRAMS
#define FOREBAY_TYPED_PROGRAMS 10'000
#endif

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("random expressions over all types agree with a reference in f64") {
  const Host host;
  for (unsigned seed = 0; seed < FOREBAY_TYPED_PROGRAMS; ++seed) {
    INFO("seed " << seed);
    REQUIRE(TypedGame(host.device, seed).play(static_cast<int>(1 + seed % 200)) == "");
  }
}
