#include "forebay/nn/autograd.hpp"

#include <thread>

#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/nn/counting_backend.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

Tensor leaf(const std::vector<float>& values, const Dims& shape, Device& device) {
  return nn::requires_grad(from_host<float>(values, shape, device));
}

template <typename E, typename Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing of that type was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a leaf shares the storage of its tensor and is tracked") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = from_host<float>(std::vector<float>{1, 2}, {2}, host);
  const Tensor w = nn::requires_grad(x);
  CHECK(w.data() == x.data());
  CHECK(nn::is_tracked(w));
  CHECK_FALSE(nn::is_tracked(x));
  CHECK(nn::is_tracked(w * 2.0F));
  CHECK_FALSE(nn::is_tracked((w * 2.0F).detach()));
  CHECK_FALSE(nn::is_tracked(greater(w, x)));
  CHECK_FALSE(nn::is_tracked(w.to(DType::i32)));
  CHECK_FALSE(nn::grad(w).defined());
  const Tensor table = ones({2, 3}, host);
  CHECK(nn::requires_grad(table.transpose()).data() != table.data());
}

TEST_CASE("gradients add up until they are cleared") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2, 3}, {3}, host);
  nn::backward((w * w).sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{2, 4, 6});
  nn::backward((w * 3.0F).sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{5, 7, 9});
  nn::zero_grad(w);
  nn::backward((w * 3.0F).sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{3, 3, 3});
}

TEST_CASE("zero_grad keeps the storage, costs no launch, and reads as zeros") {
  testing::CountingHost counting;
  const Tensor w = leaf({1, 2, 3}, {3}, counting.device());
  nn::zero_grad(w);
  CHECK_FALSE(nn::grad(w).defined());
  nn::backward((w * w).sum());
  const Tensor gradient = nn::grad(w);
  const void* address = gradient.data();

  const std::uint64_t launches = counting.launches();
  nn::zero_grad(w);
  CHECK(counting.launches() == launches);
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{0, 0, 0});
  CHECK(nn::grad(w).data() == address);
  nn::backward((w * w).sum());
  CHECK(nn::grad(w).data() == address);
  CHECK(gradient.to_host<float>() == std::vector<float>{2, 4, 6});
  nn::zero_grad(w);
  nn::zero_grad(w);
  nn::backward((w * 5.0F).sum());
  CHECK(gradient.to_host<float>() == std::vector<float>{5, 5, 5});
}

TEST_CASE("copies of a leaf share its gradient, other leaves of its storage do not") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2}, {2}, host);
  const Tensor copy = w;
  const Tensor other = nn::requires_grad(w);
  nn::backward((copy * 2.0F).sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{2, 2});
  CHECK_FALSE(nn::grad(other).defined());
}

TEST_CASE("a leaf can be the loss, and a seed weighs the elements") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor scalar = leaf({3}, {}, host);
  nn::backward(scalar);
  CHECK(nn::grad(scalar).item() == 1);
  const Tensor one = leaf({3}, {1, 1}, host);
  nn::backward(one * one);
  CHECK(nn::grad(one).item() == 6);
  const Tensor w = leaf({1, 2}, {2}, host);
  nn::backward(w * w, from_host<float>(std::vector<float>{10, 100}, {2}, host));
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{20, 400});
}

TEST_CASE("tensors of the wrong kind are refused and nothing changes") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2}, {2}, host);
  const Tensor plain = ones({2}, host);

  CHECK(contains(message_of<ShapeError>([&] { nn::backward(w * 2.0F); }), "[2]"));
  const std::string seed = message_of<ShapeError>([&] { nn::backward(w * 2.0F, ones({3}, host)); });
  CHECK(contains(seed, "[3]"));
  CHECK(contains(seed, "[2]"));
  CHECK(contains(
      message_of<ShapeError>([&] { nn::backward(w * 2.0F, zeros({2}, host, DType::i32)); }),
      "i32"));
  CHECK(contains(message_of<Error>([&] { nn::backward(plain.sum()); }), "depends on no tensor"));
  CHECK(contains(message_of<Error>([&] { nn::backward(Tensor()); }), "undefined"));
  CHECK(contains(message_of<Error>([&] { (void)nn::grad(plain); }), "no leaf"));
  CHECK(contains(message_of<Error>([&] { (void)nn::grad(w * 2.0F); }), "no leaf"));
  CHECK(contains(message_of<Error>([&] { nn::zero_grad(plain); }), "no leaf"));
  CHECK(contains(message_of<Error>([&] { nn::zero_grad(Tensor()); }), "undefined"));
  CHECK(contains(message_of<Error>([&] { (void)nn::requires_grad(Tensor()); }), "undefined"));
  CHECK(contains(
      message_of<ShapeError>([&] { (void)nn::requires_grad(zeros({2}, host, DType::i32)); }),
      "i32"));
  CHECK_FALSE(nn::grad(w).defined());
}

TEST_CASE("a graph serves once unless it is retained") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({2}, {1}, host);
  const Tensor shared = w * w;
  const Tensor loss = shared * w;
  nn::backward(loss, {}, true);
  nn::backward(loss);
  CHECK(nn::grad(w).item() == 24);
  CHECK(contains(message_of<Error>([&] { nn::backward(loss); }), "retain_graph"));
  // So does a new loss on a part that was used.
  CHECK(contains(message_of<Error>([&] { nn::backward(shared + w); }), "retain_graph"));
  CHECK(nn::grad(w).item() == 24);
}

TEST_CASE("NoGradGuard stops recording on its thread, and nests") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2}, {2}, host);
  CHECK(nn::is_grad_enabled());
  {
    const nn::NoGradGuard outer;
    CHECK_FALSE(nn::is_grad_enabled());
    CHECK_FALSE(nn::is_tracked(w * 2.0F));
    { const nn::NoGradGuard inner; }
    CHECK_FALSE(nn::is_grad_enabled());
    bool elsewhere = false;
    std::thread([&] { elsewhere = nn::is_grad_enabled(); }).join();
    CHECK(elsewhere);
    CHECK(host.counters().autograd.live_nodes == 0);
  }
  CHECK(nn::is_tracked(w * 2.0F));
}

TEST_CASE("what is written in place records nothing, and later uses read the new values") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2, 3}, {3}, host);
  const Tensor x = leaf({4, 5, 6}, {3}, host);
  const Tensor plain = from_host<float>(std::vector<float>{7, 8, 9}, {3}, host);
  add_(w, x);
  mul_(w, 2.0F);
  add_(plain, x);
  CHECK(w.to_host<float>() == std::vector<float>{10, 14, 18});
  CHECK(plain.to_host<float>() == std::vector<float>{11, 13, 15});
  CHECK_FALSE(nn::is_tracked(plain));
  nn::backward((w * w).sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{20, 28, 36});
  CHECK_FALSE(nn::grad(x).defined());
}

TEST_CASE("writes through a view with strides record nothing either") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2, 3, 4}, {2, 2}, host);
  const Tensor x = leaf({10, 20}, {2}, host);
  add_(narrow(w, 1, 1, 1).reshape({2, 1}), 1.0F);  // a reshape without strides is a copy
  add_(narrow(w, 1, 1, 1), x.reshape({2, 1}));
  copy_(w.transpose(), w);
  CHECK(w.to_host<float>() == std::vector<float>{1, 3, 12, 24});
  nn::backward((w * w).sum());
  CHECK(nn::grad(w).to_host<float>() == std::vector<float>{2, 6, 24, 48});
  CHECK_FALSE(nn::grad(x).defined());
}

TEST_CASE("backward itself records nothing, also with a tracked seed") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2}, {2}, host);
  const Tensor seed = leaf({5, 7}, {2}, host);
  nn::backward(w * w, seed);
  CHECK_FALSE(nn::is_tracked(nn::grad(w)));
  CHECK_FALSE(nn::grad(seed).defined());
  CHECK(host.counters().autograd.live_nodes == 0);
}

TEST_CASE("a closed runtime ends autograd with its own error") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = leaf({1, 2}, {2}, host);
  const Tensor loss = (w * w).sum();
  runtime.close();
  CHECK_THROWS_AS(nn::backward(loss), ClosedError);
  CHECK_THROWS_AS(nn::requires_grad(loss), ClosedError);
}
