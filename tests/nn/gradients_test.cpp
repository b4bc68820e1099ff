#include "nn/gradients.hpp"

#include <cmath>
#include <limits>

#include "forebay/compute/normalize.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/nn/counting_backend.hpp"
#include "tests/nn/gradient_cases.hpp"

using namespace forebay;

TEST_CASE("elementwise gradients agree with central differences") {
  Runtime runtime = Runtime::create();
  testing::check_elementwise_gradients(runtime.device("host"));
}

TEST_CASE("gradients of broadcast operands are summed to their shape") {
  Runtime runtime = Runtime::create();
  testing::check_broadcast_gradients(runtime.device("host"));
}

TEST_CASE("gradients of reductions and views agree with central differences") {
  Runtime runtime = Runtime::create();
  testing::check_structural_gradients(runtime.device("host"));
}

TEST_CASE("gradients of matrix products agree with central differences") {
  Runtime runtime = Runtime::create();
  testing::check_matmul_gradients(runtime.device("host"));
}

TEST_CASE("expressions beyond every fusion limit have the right gradient") {
  Config config;
  config.fusion.max_ops = 4;
  config.fusion.max_inputs = 3;
  config.fusion.max_height = 3;
  Runtime runtime = Runtime::create(config);
  Device& host = runtime.device("host");
  testing::check_elementwise_gradients(host);
  testing::check_broadcast_gradients(host);
  testing::check_matmul_gradients(host);
}

TEST_CASE("ties of min and max give each side one half") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  for (const bool smaller : {true, false}) {
    const Tensor a = nn::requires_grad(from_host<float>(std::vector<float>{1, 2, 3}, {3}, host));
    const Tensor b = nn::requires_grad(from_host<float>(std::vector<float>{1, 5, 2}, {3}, host));
    nn::backward(smaller ? minimum(a, b).sum() : maximum(a, b).sum());
    const std::vector<float> low =
        smaller ? std::vector<float>{0.5F, 1, 0} : std::vector<float>{0.5F, 0, 1};
    CHECK(nn::grad(a).to_host<float>() == low);
    CHECK(nn::grad(b).to_host<float>() == std::vector<float>{0.5F, 1 - low[1], 1 - low[2]});
  }
}

TEST_CASE("relu passes nothing at zero, and an infinite gradient does not leak") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor x = nn::requires_grad(from_host<float>(std::vector<float>{-1, 0, 2}, {3}, host));
  nn::backward(relu(x), full(Dims{3}, kInfinity, host));
  CHECK(nn::grad(x).to_host<float>() == std::vector<float>{0, 0, kInfinity});
  const Tensor y = nn::requires_grad(from_host<float>(std::vector<float>{-1, 0, 2}, {3}, host));
  nn::backward(where(greater(y, zeros({}, host)), y, ones({3}, host)),
               full(Dims{3}, kInfinity, host));
  CHECK(nn::grad(y).to_host<float>() == std::vector<float>{0, 0, kInfinity});
}

TEST_CASE("gradients pass i32 operands by") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = nn::requires_grad(from_host<float>(std::vector<float>{1, 2}, {2}, host));
  const Tensor k = from_host<std::int32_t>(std::vector<std::int32_t>{3, 0}, {2}, host);
  nn::backward((x * k + where(k, x, 2.0F * x) / k).sum());
  const std::vector<float> gradient = nn::grad(x).to_host<float>();
  CHECK(gradient[0] == Approx(3 + 1.0 / 3));
  CHECK(std::isinf(gradient[1]));
}

TEST_CASE("the gradient of a transposed weight is made in the layout of the weight") {
  testing::CountingHost counting;
  Device& host = counting.device();
  const Tensor x = nn::requires_grad(random_normal({6, 4}, 1, host));
  const Tensor w = nn::requires_grad(random_normal({5, 4}, 2, host));
  const Tensor seed = random_normal({6, 5}, 3, host).eval();
  const Tensor out = matmul(x, w.transpose());
  const std::uint64_t programs = host.counters().fusion.launches.load();
  const testing::BackendCalls before = testing::CountingHost::calls();
  nn::backward(out, seed);
  CHECK(host.counters().fusion.launches.load() == programs);
  CHECK(testing::CountingHost::calls().products == before.products + 2);
  CHECK(testing::CountingHost::calls().copies == before.copies + 2);
}

TEST_CASE("a gradient that only one operation wants is not stored") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = random_normal({64, 8}, 1, host).eval();
  const Tensor seed = random_normal({64, 8}, 2, host).eval();
  const Tensor bias = nn::requires_grad(zeros({8}, host));
  nn::backward(relu(x + bias), seed);
  const Tensor out = relu(x + bias).eval();
  const std::uint64_t allocations = host.pool().stats().allocations.total;
  nn::backward(out, seed);
  // The sum over the rows, and nothing of the size of `x`.
  CHECK(host.pool().stats().allocations.total == allocations + 1);
}

TEST_CASE("empty tensors have empty gradients, and what they are broadcast with has zeros") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = nn::requires_grad(empty({0, 4}, host));
  const Tensor bias = nn::requires_grad(ones({4}, host));
  const Tensor weight = nn::requires_grad(ones({3, 4}, host));
  nn::backward((matmul(x + bias, weight.transpose())).sum());
  CHECK(nn::grad(x).shape() == Dims{0, 4});
  CHECK(nn::grad(bias).to_host<float>() == std::vector<float>{0, 0, 0, 0});
  CHECK(nn::grad(weight).to_host<float>() == std::vector<float>(12, 0));
}

TEST_CASE("what autograd cannot follow yet is refused, not dropped") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor w = nn::requires_grad(ones({3, 2}, host));
  const Tensor index = zeros({1}, host, DType::i64);
  CHECK_THROWS_AS(slice(w, 0, 0, 3, 2), Error);
  CHECK_THROWS_AS(index_select(w * 2.0F, 0, index), Error);
  const nn::NoGradGuard guard;
  CHECK(slice(w, 0, 0, 3, 2).shape() == Dims{2, 2});
  CHECK(index_select(w, 0, index).shape() == Dims{1, 2});
}

TEST_CASE("all elements that are the least or largest share the gradient") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto gradient_of = [&](const std::vector<float>& values, bool least) {
    const Tensor x = nn::requires_grad(
        from_host<float>(values, {static_cast<std::int64_t>(values.size())}, host));
    nn::backward(least ? x.min() : x.max());
    return nn::grad(x).to_host<float>();
  };
  CHECK(gradient_of({1, 3, 3, 2}, false) == std::vector<float>{0, 0.5F, 0.5F, 0});
  CHECK(gradient_of({1, 3, 1, 1, 1}, true) == std::vector<float>{0.25F, 0, 0.25F, 0.25F, 0.25F});
  CHECK(gradient_of({1, nan, 3}, false) == std::vector<float>{0, 1, 0});
}

TEST_CASE("the gradient of a product with factors of 0 is the product of the others") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = nn::requires_grad(
      from_host<float>(std::vector<float>{2, 3, 4, 0, 3, 4, 0, 0, 4}, {3, 3}, host));
  const std::vector<int> last{1};
  nn::backward(x.prod(last).sum());
  CHECK(nn::grad(x).to_host<float>() == std::vector<float>{12, 8, 6, 12, 0, 0, 0, 0, 0});
}

TEST_CASE("an index that is computed from a tracked tensor takes no part in autograd") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = nn::requires_grad(ones({3}, host));
  CHECK_FALSE(nn::is_tracked(x.argmax()));
}

TEST_CASE("composed reductions have their gradients") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor x = nn::requires_grad(from_host<float>(std::vector<float>{3, 4}, {2}, host));
  nn::backward(x.norm());
  CHECK(nn::grad(x).to_host<float>()[0] == Approx(0.6));
  const Tensor y = nn::requires_grad(from_host<float>(std::vector<float>{1, 3}, {2}, host));
  nn::backward(y.var());
  CHECK(nn::grad(y).to_host<float>() == std::vector<float>{-2, 2});
  // The gradient of a softmax's first element is s0 (e0 - s).
  const Tensor z = nn::requires_grad(from_host<float>(std::vector<float>{0, 0}, {2}, host));
  const Tensor first = from_host<float>(std::vector<float>{1, 0}, {2}, host);
  nn::backward((softmax(z) * first).sum());
  CHECK(nn::grad(z).to_host<float>() == std::vector<float>{0.25F, -0.25F});
}

TEST_CASE("what has no derivative has no rule") {
  using compute::Action;
  using compute::Op;
  for (const Op op : {Op::greater, Op::equal, Op::to_i32, Op::random_uniform, Op::random_normal}) {
    CHECK(nn::find_rule(Action::elementwise, op) == nullptr);
  }
  for (const Op op : {Op::add, Op::select, Op::to_f32}) {
    CHECK(nn::find_rule(Action::elementwise, op) != nullptr);
  }
}
