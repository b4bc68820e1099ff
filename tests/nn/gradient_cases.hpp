// Gradients of every operation against central differences in double, on any device.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "forebay/compute/shaping.hpp"
#include "forebay/nn/autograd.hpp"
#include "forebay/nn/loss.hpp"
#include "tests/nn/reference.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

inline constexpr int kAxis0[] = {0};
inline constexpr int kAxis1[] = {1};
inline constexpr int kAxes02[] = {0, 2};

/// The largest error of `values` in units of 1e-4 · max(1, |reference|).
inline double worst_error(const std::vector<float>& values, const std::vector<double>& reference) {
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(static_cast<double>(values[i]) - reference[i]);
    // Not a number is the worst there is.
    if (!(error <= worst * 1e-4 * std::max(1.0, std::abs(reference[i])))) {
      worst = std::isnan(error) ? 1e30 : error / (1e-4 * std::max(1.0, std::abs(reference[i])));
    }
  }
  return worst;
}

/// Checks value and gradients of `function`, which takes a vector of tensors or of references,
/// at random points in [low, high] with a random seed.
template <typename Function>
void check_gradient(Device& device, const std::string& name, const std::vector<Dims>& shapes,
                    Function function, double low = -2, double high = 2) {
  INFO(name << " on " << device.id());
  std::mt19937 random(20261130);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<Tensor> leaves;
  std::vector<Reference> points;
  const auto draw = [&](const Dims& shape, auto& distribution) {
    std::vector<float> values(static_cast<std::size_t>(checked_numel(shape)));
    for (float& value : values) value = static_cast<float>(distribution(random));
    return values;
  };
  for (const Dims& shape : shapes) {
    const std::vector<float> values = draw(shape, uniform);
    leaves.push_back(nn::requires_grad(from_host<float>(values, shape, device)));
    points.emplace_back(shape, std::vector<double>(values.begin(), values.end()));
  }

  const Tensor result = function(leaves);
  const Reference expected = function(points);
  REQUIRE(result.shape() == expected.shape);
  CHECK(worst_error(result.to_host<float>(), expected.data) <= 1);

  std::normal_distribution<double> normal;
  const std::vector<float> seed = draw(expected.shape, normal);
  nn::backward(result, from_host<float>(seed, expected.shape, device));
  const auto loss = [&] {
    const Reference value = function(points);
    double sum = 0;
    for (std::size_t i = 0; i < seed.size(); ++i) {
      sum += static_cast<double>(seed[i]) * value.data[i];
    }
    return sum;
  };
  for (std::size_t input = 0; input < points.size(); ++input) {
    INFO("gradient of input " << input);
    const Tensor gradient = nn::grad(leaves[input]);
    REQUIRE(gradient.defined());
    REQUIRE(gradient.shape() == shapes[input]);
    std::vector<double> slopes;
    for (double& x : points[input].data) {
      const double at = x;
      const double h = 1e-5 * std::max(1.0, std::abs(at));
      x = at + h;
      const double above = loss();
      x = at - h;
      slopes.push_back((above - loss()) / (2 * h));
      x = at;
    }
    CHECK(worst_error(gradient.to_host<float>(), slopes) <= 1);
  }
}

inline void check_elementwise_gradients(Device& device) {
  const std::vector<Dims> one{{3, 5}};
  const std::vector<Dims> two{{3, 5}, {3, 5}};
  check_gradient(device, "neg", one, [](const auto& x) { return -x[0]; });
  check_gradient(device, "exp", one, [](const auto& x) { return exp(x[0]); });
  check_gradient(
      device, "log", one, [](const auto& x) { return log(x[0]); }, 0.1, 3);
  check_gradient(
      device, "sqrt", one, [](const auto& x) { return sqrt(x[0]); }, 0.1, 3);
  check_gradient(device, "relu", one, [](const auto& x) { return relu(x[0]); });
  check_gradient(device, "add", two, [](const auto& x) { return x[0] + x[1]; });
  check_gradient(device, "sub", two, [](const auto& x) { return x[0] - x[1]; });
  check_gradient(device, "mul", two, [](const auto& x) { return x[0] * x[1]; });
  check_gradient(
      device, "div", two, [](const auto& x) { return x[0] / x[1]; }, 0.5, 3);
  check_gradient(device, "minimum", two, [](const auto& x) { return minimum(x[0], x[1]); });
  check_gradient(device, "maximum", two, [](const auto& x) { return maximum(x[0], x[1]); });
  check_gradient(device, "where", {{3, 5}, {3, 5}, {3, 5}},
                 [](const auto& x) { return where(greater(x[0], -x[0]), x[0] * x[1], x[2]); });
  check_gradient(
      device, "scalars", one,
      [](const auto& x) { return 1.5F / (x[0] * 2.0F + 0.25F) - (3.0F - x[0]) / 4.0F; }, 0.5, 2);
  check_gradient(
      device, "a value used often", one,
      [](const auto& x) {
        const auto y = x[0] * x[0];
        return y * x[0] + exp(y) - y / (1.0F + y);
      },
      -1, 1);
}

inline void check_broadcast_gradients(Device& device) {
  check_gradient(device, "a row", {{4, 3}, {3}}, [](const auto& x) { return x[0] * x[1]; });
  check_gradient(
      device, "a column", {{4, 3}, {4, 1}}, [](const auto& x) { return x[0] / x[1]; }, 0.5, 2);
  check_gradient(device, "row and column", {{1, 3}, {4, 1}},
                 [](const auto& x) { return x[0] - x[1]; });
  check_gradient(device, "no dimension", {{4, 3}, {}}, [](const auto& x) { return x[0] * x[1]; });
  check_gradient(device, "more dimensions of one", {{3}, {1, 1, 3}},
                 [](const auto& x) { return x[0] + x[1]; });
  check_gradient(device, "minimum by a column", {{4, 3}, {4, 1}},
                 [](const auto& x) { return minimum(x[0], x[1]); });
  check_gradient(device, "where by a row", {{4, 3}, {3}, {4, 1}},
                 [](const auto& x) { return where(greater(x[1], -x[1]), x[0] * x[1], x[2]); });
  check_gradient(device, "broadcast_to", {{4, 1, 3}}, [](const auto& x) {
    return x[0].broadcast_to(Dims{2, 4, 5, 3});
  });
}

inline void check_structural_gradients(Device& device) {
  check_gradient(device, "sum", {{4, 3}}, [](const auto& x) { return x[0].sum(); });
  check_gradient(device, "sum of rows", {{4, 3}}, [](const auto& x) { return x[0].sum(kAxis1); });
  check_gradient(device, "sum of columns kept", {{4, 3}},
                 [](const auto& x) { return x[0].sum(kAxis0, true); });
  check_gradient(device, "sum of two axes", {{4, 3, 2}},
                 [](const auto& x) { return x[0].sum(kAxes02); });
  check_gradient(device, "mean", {{4, 3}}, [](const auto& x) { return (x[0] * x[0]).mean(); });
  check_gradient(device, "mean of an axis", {{4, 3, 2}},
                 [](const auto& x) { return exp(x[0]).mean(kAxis1); });
  check_gradient(device, "softmax", {{4, 3}}, [](const auto& x) {
    const auto e = exp(x[0]);
    return e / e.sum(kAxis1, true);
  });
  check_gradient(device, "prod", {{2, 3}}, [](const auto& x) { return x[0].prod(); });
  check_gradient(device, "prod of an axis", {{4, 3, 2}},
                 [](const auto& x) { return x[0].prod(kAxis1, true); });
  check_gradient(device, "min", {{4, 3}}, [](const auto& x) { return x[0].min() * x[0]; });
  check_gradient(device, "max of an axis", {{4, 3, 2}},
                 [](const auto& x) { return exp(x[0].max(kAxis1)); });
  check_gradient(device, "max of two axes kept", {{4, 3, 2}},
                 [](const auto& x) { return x[0] - x[0].max(kAxes02, true); });
  check_gradient(device, "narrow", {{4, 3, 2}}, [](const auto& x) {
    return narrow(x[0], 1, 1, 2) * narrow(x[0], 1, 0, 2) + narrow(x[0], 1, 0, 1);
  });
  check_gradient(device, "flip", {{4, 3}}, [](const auto& x) { return x[0] * flip(x[0], 0); });
  check_gradient(device, "cat", {{4, 3}, {2, 3}}, [](const auto& x) {
    const auto whole = cat(std::vector{x[0], x[1], x[0] * x[0]}, 0);
    return whole * whole;
  });
  check_gradient(device, "cat of many", {{4, 1}, {4, 3}, {4, 2}}, [](const auto& x) {
    return exp(cat(std::vector{x[0], x[1], x[2], x[0], x[1], x[2], x[0], x[1]}, 1));
  });
  check_gradient(device, "reshape", {{4, 3}}, [](const auto& x) {
    return x[0].reshape(Dims{2, 6}) * x[0].reshape(Dims{2, 6});
  });
  check_gradient(device, "transpose", {{2, 3, 4}},
                 [](const auto& x) { return x[0].transpose(0, 2) * 2.0F; });
  check_gradient(device, "product with its transpose", {{3, 3}},
                 [](const auto& x) { return x[0] * x[0].transpose(); });
}

inline void check_matmul_gradients(Device& device) {
  check_gradient(device, "a b", {{4, 3}, {3, 5}}, [](const auto& x) { return matmul(x[0], x[1]); });
  check_gradient(device, "a bT", {{4, 3}, {5, 3}},
                 [](const auto& x) { return matmul(x[0], x[1].transpose()); });
  check_gradient(device, "aT b", {{3, 4}, {3, 5}},
                 [](const auto& x) { return matmul(x[0].transpose(), x[1]); });
  check_gradient(device, "aT bT", {{3, 4}, {5, 3}},
                 [](const auto& x) { return matmul(x[0].transpose(), x[1].transpose()); });
  check_gradient(device, "a aT", {{4, 3}},
                 [](const auto& x) { return matmul(x[0], x[0].transpose()); });
  check_gradient(device, "a b summed", {{4, 3}, {3, 5}},
                 [](const auto& x) { return matmul(x[0], x[1]).sum(); });
  check_gradient(device, "two layers", {{6, 4}, {5, 4}, {5}, {2, 5}, {2}, {6, 2}},
                 [](const auto& x) {
                   const auto hidden = relu(matmul(x[0], x[1].transpose()) + x[2]);
                   const auto difference = matmul(hidden, x[3].transpose()) + x[4] - x[5];
                   return (difference * difference).mean();
                 });
}

}  // namespace forebay::testing
