#include "nn/tape.hpp"

#include <pthread.h>

#include <functional>

#include "forebay/nn/autograd.hpp"
#include "forebay/runtime/runtime.hpp"
#include "nn/gradients.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

constexpr int kChain = 1'000'000;

std::uint64_t live_nodes(Device& device) { return device.counters().autograd.live_nodes.load(); }
std::uint64_t live_blocks(Device& device) { return device.pool().stats().allocations.live; }

// Runs `function` on a thread with a stack of 256 KiB.
void on_small_stack(std::function<void()> function) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                (*static_cast<std::function<void()>*>(argument))();
                return nullptr;
              },
              &function) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("nodes live as long as a tensor that needs them") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = nn::requires_grad(ones({4}, host));
  CHECK(live_nodes(host) == 0);
  Tensor a = w * 2.0F;
  Tensor b = exp(a);
  Tensor c = (b + a).sum();
  CHECK(live_nodes(host) == 4);
  a = {};
  b = {};
  CHECK(live_nodes(host) == 4);
  nn::backward(c);
  c = {};
  CHECK(live_nodes(host) == 0);
}

TEST_CASE("dropping a branch keeps what another branch needs") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = nn::requires_grad(ones({4}, host));
  Tensor trunk = w * 2.0F;
  Tensor left = exp(trunk);
  Tensor right = trunk * trunk;
  trunk = {};
  left = {};
  CHECK(live_nodes(host) == 2);
  nn::backward(right.sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{8, 8, 8, 8});
  right = {};
  CHECK(live_nodes(host) == 0);
}

TEST_CASE("a million nodes are differentiated and dropped on a small stack") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  on_small_stack([&] {
    const Tensor w = nn::requires_grad(ones({2}, host));
    Tensor y = w;
    for (int i = 0; i < kChain; ++i) y = std::move(y) + 1.0F;
    if (live_nodes(host) != kChain) throw std::logic_error("nodes are missing");
    nn::backward(y.sum());
    if (nn::grad(w).to_host<float>() != std::vector<float>{1, 1}) {
      throw std::logic_error("the gradient is wrong");
    }
    y = {};
  });
  CHECK(live_nodes(host) == 0);
}

TEST_CASE("a chain that nobody differentiates is dropped on a small stack") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  on_small_stack([&] {
    Tensor y = nn::requires_grad(ones({2}, host));
    // Both operands are the same node, which has two owners then.
    for (int i = 0; i < kChain / 4; ++i) {
      Tensor same = y;
      y = minimum(std::move(y), std::move(same));
    }
  });
  CHECK(live_nodes(host) == 0);
  CHECK(live_blocks(host) == 0);
}

TEST_CASE("the tape keeps only what a derivative needs") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = nn::requires_grad(full(Dims{64}, 0.5F, host));
  const Tensor x = full(Dims{64}, 2.0F, host).eval();
  const std::uint64_t before = live_blocks(host);
  const auto blocks_of = [&](auto make) {
    const Tensor result = make();
    result.eval();
    return live_blocks(host) - before;
  };
  // The result alone, and with it each value that is kept.
  CHECK(blocks_of([&] { return -((w + x) - 1.0F); }) == 1);
  CHECK(blocks_of([&] { return (w + 1.0F) * x; }) == 1);
  CHECK(blocks_of([&] { return (x + 1.0F) * w; }) == 2);
  CHECK(blocks_of([&] { return exp(w + 1.0F); }) == 1);
  CHECK(blocks_of([&] { return log(w + 1.0F); }) == 2);
  CHECK(blocks_of([&] { return relu(w + 1.0F); }) == 1);
  CHECK(blocks_of([&] { return relu(relu(w + 1.0F) + 1.0F); }) == 2);
  CHECK(blocks_of([&] { return (w + 1.0F) / x; }) == 1);
  CHECK(blocks_of([&] { return where(x, w + 1.0F, w); }) == 1);
  CHECK(blocks_of([&] { return (w * 3.0F).sum(); }) == 1);
}

TEST_CASE("backward releases what the tape kept while the graph still lives") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = nn::requires_grad(ones({64}, host));
  const std::uint64_t before = live_blocks(host);
  const Tensor loss = exp(exp(w)).sum();
  CHECK(live_blocks(host) == before + 3);
  nn::backward(loss);
  // The loss and the gradient.
  CHECK(live_blocks(host) == before + 2);
  CHECK(live_nodes(host) == 3);
}

TEST_CASE("a pass that fails leaves the nodes as they were") {
  Config config;
  config.pool.capacity = std::size_t{8} << 20;
  Runtime runtime = Runtime::create(config);
  Device& host = runtime.device("host");
  const Dims shape{256, 1024};  // 1 MiB
  const Tensor a = nn::requires_grad(ones(shape, host));
  const Tensor b = nn::requires_grad(ones(shape, host));
  Tensor loss = (a * b).sum();
  std::vector<Tensor> filler;
  try {
    for (;;) filler.push_back(ones({256}, host).eval());
  } catch (const OutOfMemory&) {
  }
  CHECK_THROWS_AS(nn::backward(loss), OutOfMemory);
  filler.clear();
  CHECK(nn::as_leaf(a)->waiting == 0);
  CHECK_FALSE(nn::as_leaf(a)->gradient.defined());
  loss = (a * b).sum();
  nn::backward(loss);
  CHECK(nn::grad(a).sum().item() == 256 * 1024);
}

TEST_CASE("a tensor with somebody else's hook is refused") {
  struct Foreign final : compute::AutogradHook {
    std::shared_ptr<AutogradHook> record(const compute::ActionRecord&) override { return nullptr; }
  };
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  Tensor x = ones({2}, host).eval();
  x.set_autograd(std::make_shared<Foreign>());
  const Tensor w = nn::requires_grad(ones({2}, host));
  CHECK_THROWS_AS(w + x, Error);
  CHECK_THROWS_AS(nn::backward(x, ones({2}, host)), Error);
}
