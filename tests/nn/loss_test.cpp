#include "forebay/nn/loss.hpp"

#include <cmath>

#include "forebay/runtime/runtime.hpp"
#include "tests/nn/counting_backend.hpp"
#include "tests/nn/gradient_cases.hpp"

using namespace forebay;

TEST_CASE("mse_loss is the mean of squared differences") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Tensor a = from_host<float>(std::vector<float>{1, 2, 3, 4}, {2, 2}, host);
  const Tensor b = from_host<float>(std::vector<float>{1, 0, 0, 8}, {2, 2}, host);
  const Tensor loss = nn::mse_loss(a, b);
  CHECK(loss.shape() == Dims{});
  CHECK(loss.item() == (4 + 9 + 16) / 4.0F);
  CHECK(std::isnan(nn::mse_loss(empty({0}, host), empty({0}, host)).item()));
}

TEST_CASE("mse_loss has gradients for both sides") {
  Runtime runtime = Runtime::create();
  struct Loss {
    Tensor operator()(const std::vector<Tensor>& x) const { return nn::mse_loss(x[0], x[1]); }
    testing::Reference operator()(const std::vector<testing::Reference>& x) const {
      return ((x[0] - x[1]) * (x[0] - x[1])).mean();
    }
  };
  testing::check_gradient(runtime.device("host"), "mse_loss", {{3, 4}, {3, 4}}, Loss());
}

TEST_CASE("mse_loss is one launch and stores nothing without autograd") {
  testing::CountingHost counting;
  Device& host = counting.device();
  const Tensor a = random_normal({64, 64}, 1, host).eval();
  const Tensor b = random_normal({64, 64}, 2, host).eval();
  const std::uint64_t launches = counting.launches();
  const std::uint64_t allocations = host.pool().stats().allocations.total;
  const Tensor loss = nn::mse_loss(a, b);
  CHECK(counting.launches() == launches + 1);
  CHECK(host.pool().stats().allocations.total == allocations + 1);
}

TEST_CASE("with autograd mse_loss stores the difference, and no squares") {
  testing::CountingHost counting;
  Device& host = counting.device();
  const Tensor a = nn::requires_grad(random_normal({64, 64}, 1, host));
  const Tensor b = random_normal({64, 64}, 2, host).eval();
  const std::uint64_t allocations = host.pool().stats().allocations.total;
  const Tensor loss = nn::mse_loss(a, b);
  CHECK(host.pool().stats().allocations.total == allocations + 2);
}

TEST_CASE("mse_loss refuses shapes that differ, also where they would broadcast") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  try {
    (void)nn::mse_loss(ones({4, 1}, host), ones({4}, host));
    FAIL("no error");
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()) ==
          "mse_loss: input has shape [4, 1], target [4]; they must be equal");
  }
}
