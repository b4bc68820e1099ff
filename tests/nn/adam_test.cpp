#include "forebay/nn/adam.hpp"

#include <limits>

#include "forebay/compute/shaping.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/nn/adam_cases.hpp"
#include "tests/nn/adam_device_bench.hpp"
#include "tests/nn/counting_backend.hpp"

using namespace forebay;

namespace {

Tensor leaf(const std::vector<float>& values, Device& device) {
  return nn::requires_grad(
      from_host<float>(values, {static_cast<std::int64_t>(values.size())}, device));
}

std::uint64_t tables(Device& device) { return device.counters().tensor_tables.load(); }

}  // namespace

TEST_CASE("Adam stays near its definition in double over 1000 steps") {
  Runtime runtime = Runtime::create();
  testing::check_adam_over_1000_steps(runtime.device("host"));
}

TEST_CASE("Adam updates tensors of any size") {
  Runtime runtime = Runtime::create();
  testing::check_adam_sizes(runtime.device("host"));
}

TEST_CASE("the bare kernel through a backend gives the same bits for any alignment") {
  Runtime runtime = Runtime::create();
  testing::check_adam_alignments(runtime.device("host"));
}

TEST_CASE("a step is one launch, allocates nothing and rebuilds nothing") {
  testing::CountingHost counting;
  Device& host = counting.device();
  std::vector<Tensor> parameters;
  for (int i = 0; i < 5000; ++i) parameters.push_back(leaf({1, 2, 3}, host));
  nn::Adam adam(parameters);
  for (const Tensor& parameter : parameters) testing::set_gradient(parameter, {1, 1, 1});
  CHECK(tables(host) == 0);
  adam.step();
  CHECK(tables(host) == 1);

  const std::uint64_t launches = counting.launches();
  const std::uint64_t uploads = testing::CountingHost::calls().uploads;
  const std::uint64_t allocations = host.pool().stats().allocations.total;
  for (int i = 0; i < 3; ++i) adam.step();
  CHECK(counting.launches() == launches + 3);
  CHECK(testing::CountingHost::calls().uploads == uploads);
  CHECK(host.pool().stats().allocations.total == allocations);
  CHECK(tables(host) == 1);
  CHECK(adam.steps() == 4);
  CHECK(parameters[4999].to_host<float>()[2] == Approx(3 - 4 * 1e-3));
}

TEST_CASE("what is pending sees a parameter and its gradient as they were") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor p = leaf({1, 2, 3}, host);
  const Tensor q = leaf({4, 5}, host);
  nn::Adam adam({p, q}, nn::AdamOptions());
  testing::set_gradient(p, {1, 1, 1});
  testing::set_gradient(q, {2, 2});
  const Tensor twice = p.detach() * 2.0F;
  const Tensor gradient = nn::grad(p) * 3.0F;
  const Tensor part = narrow(q.detach(), 0, 1, 1) + 1.0F;
  adam.step();
  testing::set_gradient(p, {5, 5, 5});
  CHECK(twice.to_host<float>() == std::vector<float>{2, 4, 6});
  CHECK(part.to_host<float>() == std::vector<float>{6});
  CHECK(gradient.to_host<float>() == std::vector<float>{3, 3, 3});
  CHECK(p.to_host<float>() != std::vector<float>{1, 2, 3});
}

TEST_CASE("a parameter without a gradient is skipped and counts its own steps") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::AdamOptions options(0.1);
  const Tensor a = leaf({1, 2}, host);
  const Tensor b = leaf({3, 4}, host);
  nn::Adam adam({a, b}, options);
  adam.step();
  CHECK(tables(host) == 0);
  CHECK(adam.steps() == 0);

  testing::AdamReference of_a({1, 2}, options);
  testing::AdamReference of_b({3, 4}, options);
  for (int step = 0; step < 9; ++step) {
    testing::set_gradient(a, {0.5F, -1});
    of_a.step({0.5F, -1}, 0.1);
    if (step >= 3) {
      testing::set_gradient(b, {1, 2});
      of_b.step({1, 2}, 0.1);
    }
    adam.step();
    CHECK(testing::adam_error(a, of_a) <= 1);
    CHECK(testing::adam_error(b, of_b) <= 1);
  }
  CHECK(tables(host) == 2);
}

TEST_CASE("a cleared gradient is a zero gradient") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::AdamOptions options(0.1);
  const Tensor a = leaf({1, 2}, host);
  nn::Adam adam({a}, options);
  testing::AdamReference reference({1, 2}, options);
  testing::set_gradient(a, {1, 1});
  adam.step();
  reference.step({1, 1}, 0.1);
  for (int i = 0; i < 3; ++i) {
    adam.zero_grad();
    adam.step();
    reference.step({0, 0}, 0.1);
  }
  CHECK(testing::adam_error(a, reference) <= 1);
  CHECK(tables(host) == 1);
}

TEST_CASE("set_lr takes effect at the next step without a new table") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::AdamOptions options(0.1);
  const Tensor a = leaf({1, 2}, host);
  nn::Adam adam({a}, options);
  testing::AdamReference reference({1, 2}, options);
  for (const double lr : {0.1, 0.01, 0.0, 0.3}) {
    adam.set_lr(lr);
    testing::set_gradient(a, {1, -3});
    adam.step();
    reference.step({1, -3}, lr);
    CHECK(testing::adam_error(a, reference) <= 1);
  }
  CHECK(tables(host) == 1);
}

TEST_CASE("Adam and its memory end together, and it can be moved") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor a = leaf({1, 2}, host);
  testing::set_gradient(a, {1, 1});
  const std::uint64_t before = host.pool().stats().allocations.live;
  {
    nn::Adam first({a});
    first.step();
    nn::Adam second = std::move(first);
    second.step();
    CHECK(second.steps() == 2);
    CHECK_THROWS_AS(first.step(), Error);  // NOLINT(bugprone-use-after-move): what it is about
    CHECK_THROWS_AS(first.zero_grad(), Error);
    CHECK_THROWS_AS(first.set_lr(1), Error);
    CHECK_THROWS_AS(first.steps(), Error);
    CHECK(host.pool().stats().allocations.live > before);
  }
  CHECK(host.pool().stats().allocations.live == before);
}

TEST_CASE("a value that is no number stays in its element") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor a = leaf({1, 1, kInfinity, 1}, host);
  nn::Adam adam({a});
  testing::set_gradient(a, {1, kNan, 1, 0});
  adam.step();
  const std::vector<float> values = a.to_host<float>();
  CHECK(values[0] == Approx(0.999));
  CHECK(std::isnan(values[1]));
  CHECK(values[2] == kInfinity);
  CHECK(values[3] == 1);
}

TEST_CASE("what Adam cannot work with is refused") {
  Runtime runtime = Runtime::create();
  Runtime other = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor a = leaf({1, 2}, host);
  const auto message = [&](auto make) {
    try {
      make();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message([&] { nn::Adam({ones({2}, host)}); }) ==
        "Adam: parameter 0 is no leaf; make it one with requires_grad");
  CHECK(message([&] {
          nn::Adam({a, leaf({1}, host), a});
        }) == "Adam: parameter 2 is parameter 0 again");
  CHECK(message([&] {
          nn::Adam({a, nn::requires_grad(a)});
        }) == "Adam: parameter 1 is parameter 0 again");
  CHECK_THROWS_AS(nn::Adam({a, leaf({1}, other.device("host"))}), ShapeError);
  CHECK(message([&] { nn::Adam({a}, nn::AdamOptions(-1)); }) ==
        "Adam: lr is -1; allowed is a number from 0 to 3.40282e+38");
  CHECK_THROWS_AS(nn::Adam({a}, nn::AdamOptions(1e39)), ConfigError);
  CHECK_THROWS_AS(nn::Adam({a}, nn::AdamOptions().eps(1e39)), ConfigError);
  CHECK_THROWS_AS(nn::Adam({a}, nn::AdamOptions().betas({1, 0.9})), ConfigError);
  CHECK_THROWS_AS(nn::Adam({a}, nn::AdamOptions().betas({0.9, -0.1})), ConfigError);
  CHECK_THROWS_AS(nn::Adam({a}, nn::AdamOptions().eps(-1e-8)), ConfigError);
  CHECK_THROWS_AS(
      nn::Adam({a}, nn::AdamOptions().weight_decay(std::numeric_limits<double>::infinity())),
      ConfigError);
  nn::Adam adam({a});
  CHECK_THROWS_AS(adam.set_lr(std::numeric_limits<double>::quiet_NaN()), ConfigError);
  CHECK_THROWS_AS(adam.set_lr(1e39), ConfigError);
  adam.set_lr(std::numeric_limits<float>::max());
  nn::Adam none(std::vector<Tensor>{});
  none.step();
  CHECK(none.steps() == 0);

  testing::set_gradient(a, {1, 1});
  runtime.close();
  CHECK_THROWS_AS(adam.step(), ClosedError);
}
