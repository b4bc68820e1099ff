// Adam against its definition in double, on any device.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "forebay/nn/adam.hpp"
#include "forebay/nn/autograd.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// Kingma and Ba's algorithm 1 for one parameter tensor, in double.
class AdamReference {
 public:
  AdamReference(const std::vector<float>& start, const nn::AdamOptions& options)
      : options_(options), p(start.begin(), start.end()), m_(p.size()), v_(p.size()) {}
  void step(const std::vector<float>& gradient, double lr) {
    const auto [beta1, beta2] = options_.betas();
    ++t_;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = static_cast<double>(gradient[i]) + options_.weight_decay() * p[i];
      m_[i] = beta1 * m_[i] + (1 - beta1) * g;
      v_[i] = beta2 * v_[i] + (1 - beta2) * g * g;
      const double m = m_[i] / (1 - std::pow(beta1, t_));
      const double v = v_[i] / (1 - std::pow(beta2, t_));
      p[i] -= lr * m / (std::sqrt(v) + options_.eps());
    }
  }

 private:
  nn::AdamOptions options_;

 public:
  std::vector<double> p;

 private:
  std::vector<double> m_, v_;
  int t_ = 0;
};

/// The largest difference in units of 1e-5 · max(1, |p|).
inline double adam_error(const Tensor& parameter, const AdamReference& reference) {
  const std::vector<float> values = parameter.to_host<float>();
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = reference.p[i];
    const double error =
        std::abs(static_cast<double>(values[i]) - p) / (1e-5 * std::max(1.0, std::abs(p)));
    if (!(error <= worst)) worst = std::isnan(error) ? 1e30 : error;
  }
  return worst;
}

/// Gives a leaf exactly this gradient.
inline void set_gradient(const Tensor& leaf, const std::vector<float>& gradient) {
  nn::zero_grad(leaf);
  nn::backward(leaf, from_host<float>(gradient, leaf.shape(), leaf.device()));
}

/// The gradient of element i at step t.
using GradientOf = std::function<double(int step, std::size_t element)>;

/// 1000 steps from starts of several magnitudes; the error must hold after each hundredth.
inline void check_adam(Device& device, const std::string& name, const nn::AdamOptions& options,
                       const GradientOf& gradient_of) {
  INFO(name << " on " << device.id());
  std::mt19937 random(7);
  std::vector<float> start(500);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const float scale[] = {0.0F, 0.05F, 1.0F, 3.0F, 100.0F};
    start[i] = scale[i % 5] * std::uniform_real_distribution<float>(-1, 1)(random);
  }
  const Tensor p =
      nn::requires_grad(from_host<float>(start, {static_cast<std::int64_t>(start.size())}, device));
  nn::Adam adam({p}, options);
  AdamReference reference(start, options);
  std::vector<float> gradient(start.size());
  for (int step = 0; step < 1000; ++step) {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = static_cast<float>(gradient_of(step, i));
    }
    set_gradient(p, gradient);
    adam.step();
    reference.step(gradient, options.lr());
    if (step < 3 || step % 100 == 99) {
      INFO("after step " << step);
      REQUIRE(adam_error(p, reference) <= 1);
    }
  }
  CHECK(adam.steps() == 1000);
}

inline void check_adam_over_1000_steps(Device& device) {
  const auto noise = [random = std::mt19937(3)](int, std::size_t) mutable {
    return std::normal_distribution<double>()(random);
  };
  check_adam(device, "random gradients", nn::AdamOptions(1e-3), noise);
  check_adam(device, "random gradients, weight decay",
             nn::AdamOptions(1e-2).weight_decay(0.1).eps(1e-5), noise);
  // Every update is the same: whatever rounding loses each time adds up.
  check_adam(device, "constant gradients", nn::AdamOptions(1e-3),
             [](int, std::size_t i) { return i % 2 == 0 ? 0.7 : -1e-3; });
  check_adam(device, "gradients of changing size", nn::AdamOptions(1e-3).betas({0.8, 0.99}),
             [](int step, std::size_t i) {
               return std::pow(10.0, static_cast<double>(i % 9) - 4) * std::sin(step * 0.1 + 1.0);
             });
  check_adam(device, "no momentum", nn::AdamOptions(1e-3).betas({0.0, 0.9}), noise);
}

/// Tensors of every small size and some around a chunk, in one table.
inline void check_adam_sizes(Device& device) {
  const nn::AdamOptions options(1e-2);
  std::vector<Tensor> parameters;
  std::vector<AdamReference> references;
  std::vector<std::vector<float>> gradients;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const std::int64_t size : {0, 1, 2, 3, 4, 5, 7, 8, 1023, 4095, 4096, 4097, 3 * 4096 + 5}) {
    std::vector<float> start(static_cast<std::size_t>(size));
    for (float& value : start) value = normal(random);
    parameters.push_back(nn::requires_grad(from_host<float>(start, {size}, device)));
    references.emplace_back(start, options);
    for (float& value : start) value = normal(random);
    gradients.push_back(start);
  }
  nn::Adam adam(parameters, options);
  for (int step = 0; step < 5; ++step) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      set_gradient(parameters[i], gradients[i]);
      references[i].step(gradients[i], options.lr());
    }
    adam.step();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    INFO("size " << parameters[i].numel() << " on " << device.id());
    CHECK(adam_error(parameters[i], references[i]) <= 1);
  }
}

}  // namespace forebay::testing
