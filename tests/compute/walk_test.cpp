#include "compute/walk.hpp"

#include <algorithm>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

std::size_t place(const std::vector<Node*>& list, const NodeRef& node) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), node.get()) - list.begin());
}

}  // namespace

TEST_CASE("a walk meets each node once, operands first") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor b = host.f32({3, 4});
  const Tensor shared = a + b;
  const Tensor root = exp(shared) * shared + 2.0;
  Node* const roots[] = {root.node().get()};
  Walk walk;
  REQUIRE(walk.run(roots, 100));
  CHECK(walk.operations().size() == 4);
  CHECK(walk.leaves().size() == 2);
  CHECK(walk.constants().size() == 1);
  CHECK(place(walk.operations(), shared.node()) == 0);
  CHECK(place(walk.operations(), root.node()) == 3);
  CHECK(shared.node()->uses == 2);
  CHECK(a.node()->uses == 1);
  CHECK(root.node()->uses == 0);
  for (std::size_t i = 0; i < walk.operations().size(); ++i) {
    CHECK(walk.operations()[i]->slot == i);
  }
  // Again: nothing is left over from the first time.
  REQUIRE(walk.run(roots, 100));
  CHECK(walk.operations().size() == 4);
  CHECK(shared.node()->uses == 2);
}

TEST_CASE("leaves and constants of several operations are met once") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor two = full({2}, 2.0F, host.device);
  const Tensor root = (a * two) + (a - two);
  Node* const roots[] = {root.node().get()};
  Walk walk;
  REQUIRE(walk.run(roots, 100));
  CHECK(walk.leaves() == std::vector<Node*>{a.node().get()});
  CHECK(walk.constants() == std::vector<Node*>{two.node().get()});
  CHECK(a.node()->uses == 2);
  CHECK(two.node()->uses == 2);
}

TEST_CASE("a walk stops beyond its limit") {
  const Host host;
  Tensor t = host.f32({1});
  for (int i = 0; i < 10; ++i) t = -t;
  Node* const roots[] = {t.node().get()};
  Walk walk;
  CHECK(walk.run(roots, 10));
  CHECK_FALSE(walk.run(roots, 9));
  CHECK(walk.run(roots, 10));
}

TEST_CASE("several roots share what they share") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor shared = a + 1.0;
  const Tensor x = shared * 2.0;
  const Tensor y = shared * shared;
  Node* const roots[] = {x.node().get(), y.node().get(), shared.node().get()};
  Walk walk;
  REQUIRE(walk.run(roots, 100));
  CHECK(walk.operations().size() == 3);
  CHECK(walk.leaves().size() == 1);
  CHECK(shared.node()->uses == 3);
}
