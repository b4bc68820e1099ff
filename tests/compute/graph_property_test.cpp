// Captures, replays, updates and drops in random order, against a model.
#include "tests/compute/graph_program.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("graphs in random order compute what plain vectors do") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const Host host;
    GraphProgram program(host.device, seed, true);
    for (int i = 0; i < 1500; ++i) {
      program.step();
      if (i % 97 == 0) REQUIRE(host.device.pool().validate() == "");
    }
    program.finish();
  }
}
