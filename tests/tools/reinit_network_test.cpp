#include "tools/forebay/reinit_network.hpp"

#include <algorithm>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

float loss_after(Network& network, int steps) {
  for (int i = 0; i < steps; ++i) {
    network.compute_gradients();
    network.step();
  }
  network.compute_gradients();
  return network.loss();
}

}  // namespace

TEST_CASE("jitter makes every width smaller by less than half and depends on the key") {
  const Widths widths = {64, 256, 256, 256, 32};
  std::vector<Widths> seen;
  for (std::uint64_t key = 0; key < 50; ++key) {
    const Widths some = jittered(widths, key);
    REQUIRE(some.size() == widths.size());
    for (std::size_t i = 0; i < widths.size(); ++i) {
      CHECK(some[i] <= widths[i]);
      CHECK(2 * some[i] >= widths[i]);
    }
    CHECK(std::find(seen.begin(), seen.end(), some) == seen.end());
    CHECK(jittered(widths, key) == some);
    seen.push_back(some);
  }
}

TEST_CASE("a network learns, by its key alone") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  Network one({8, 16, 4}, 1, device);
  const float before = loss_after(one, 0);
  const float after = loss_after(one, 40);
  CHECK(after < before);
  Network other({8, 16, 4}, 2, device);
  CHECK(loss_after(other, 0) != before);
  Network same({8, 16, 4}, 1, device);
  CHECK(loss_after(same, 0) == before);
  CHECK(loss_after(same, 40) == after);
}

TEST_CASE("a network that is dropped leaves nothing, in whatever order its parts go") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  for (unsigned seed = 0; seed < 20; ++seed) {
    Network network({8, 16, 4}, seed, device);
    static_cast<void>(loss_after(network, 2));
    CHECK(device.pool().stats().allocations.live > 0);
    std::mt19937 random(seed);
    network.drop(random);
    CHECK(device.pool().stats().allocations.live == 0);
    CHECK(device.counters().autograd.live_nodes == 0);
  }
}
