#include "compute/node.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

NodeRef negated(NodeRef node) {
  const Dims shape = node->shape;
  return Node::operation(Op::neg, DType::f32, shape, {&node, 1});
}

NodeRef chain(NodeRef node, int length) {
  for (int i = 0; i < length; ++i) node = negated(std::move(node));
  return node;
}

}  // namespace

TEST_CASE("a chain of a million nodes is dropped on a small stack") {
  const Host host;
  std::weak_ptr<Storage> leaf;
  on_small_stack([&] {
    const Tensor start = host.f32({1, 2, 3});
    leaf = start.node()->storage;
    chain(start.node(), 1'000'000);
  });
  CHECK(leaf.expired());
}

TEST_CASE("branches and siblings are dropped with the last owner") {
  const Host host;
  std::weak_ptr<Storage> leaf;
  NodeRef sibling;
  on_small_stack([&] {
    NodeRef start = host.f32({1, 2, 3}).node();
    leaf = start->storage;
    NodeRef middle = chain(start, 1000);
    sibling = chain(middle, 1000);
    // Each level uses the one below twice.
    for (int i = 0; i < 100'000; ++i) {
      std::array<NodeRef, 2> both{middle, middle};
      middle = Node::operation(Op::add, DType::f32, Dims{3}, both);
    }
  });
  CHECK_FALSE(leaf.expired());
  sibling = NodeRef();
  CHECK(leaf.expired());
}

TEST_CASE("references count owners") {
  const Host host;
  NodeRef node = host.f32({1}).node();
  CHECK(node->owners() == 1);
  NodeRef copy = node;
  CHECK(node->owners() == 2);
  copy = negated(node);
  CHECK(node->owners() == 2);
  NodeRef moved = std::move(copy);
  CHECK(node->owners() == 2);
  CHECK_FALSE(copy);  // NOLINT(bugprone-use-after-move)
  moved = NodeRef();
  CHECK(node->owners() == 1);
}

TEST_CASE("an operation that becomes storage lets go of its operands") {
  const Host host;
  const NodeRef leaf = host.f32({1, 2}).node();
  const NodeRef node = negated(leaf);
  CHECK(node->inputs().size() == 1);
  node->become_storage(std::make_shared<Storage>(host.device.shared_from_this(), 8));
  CHECK(node->is(NodeKind::storage));
  CHECK(node->contiguous);
  CHECK(node->inputs().empty());
  CHECK(leaf->owners() == 1);
}

TEST_CASE("nodes of every kind keep their device's shell, by what they hold") {
  std::weak_ptr<Device> shell;
  NodeRef constant, operation, stored;
  {
    const Host host;
    shell = host.device.weak_from_this();
    constant = full({2}, 1.0F, host.device).node();
    operation = negated(full({2}, 2.0F, host.device).node());
    stored = host.f32({1, 2}).node();
  }
  for (NodeRef* last : {&operation, &stored, &constant}) {
    for (const NodeRef* node : {&constant, &operation, &stored}) {
      if (*node) CHECK(node->get()->device == shell.lock().get());
    }
    CHECK_FALSE(shell.expired());
    *last = NodeRef();
  }
  CHECK(shell.expired());
}

TEST_CASE("views know whether they are contiguous") {
  const Host host;
  Engine& engine = host.engine();
  const auto view = [&](const Dims& shape, const Dims& strides) {
    return Node::view(host.device, engine, shape, DType::f32,
                      std::make_shared<Storage>(host.device.shared_from_this(), 400), strides);
  };
  CHECK(view({2, 3}, {3, 1})->contiguous);
  CHECK_FALSE(view({2, 3}, {1, 2})->contiguous);
  CHECK_FALSE(view({2, 3}, {0, 1})->contiguous);
  CHECK(view({1, 3}, {77, 1})->contiguous);
  CHECK(view(Dims(), Dims())->contiguous);
}

TEST_CASE("storage goes back to the pool, and is silent once the device has closed") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  const auto shell = device.shared_from_this();
  auto live = [&] { return device.pool().stats().allocations.live; };
  const auto before = live();
  auto storage = std::make_shared<Storage>(shell, 1000);
  CHECK(storage->data() != nullptr);
  CHECK(live() == before + 1);
  storage.reset();
  CHECK(live() == before);
  CHECK(Storage(shell, 0).data() == nullptr);

  auto late = std::make_shared<Storage>(shell, 1000);
  runtime.close();
  const auto misuse = device.pool().stats().errors.pool_closed;
  late.reset();
  CHECK(device.pool().stats().errors.pool_closed == misuse);
  CHECK_THROWS_AS(Storage(shell, 1000), ClosedError);
}
