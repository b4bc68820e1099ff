// One network of the workload reinit with its data and its Adam.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "forebay/nn/nn.hpp"

namespace forebay::tools {

/// Widths of the layers, input first.
using Widths = std::vector<std::int64_t>;

/// Every width made smaller by less than half, drawn from `key`.
[[nodiscard]] Widths jittered(Widths widths, std::uint64_t key);

/// Linear layers with ReLU between them, a batch of 256 inputs and targets, mean squared error,
/// Adam (lr 1e-3, betas 0.9 and 0.999, eps 1e-5). Everything random is drawn from `key` alone, so
/// that one network changes nothing for another.
class Network {
 public:
  Network(const Widths& widths, std::uint64_t key, Device& device);

  /// Enqueues zero_grad, forward, loss and backward.
  void compute_gradients();
  /// Enqueues the step.
  void step() { adam_->step(); }
  /// The loss that the last `compute_gradients` was about. Waits.
  [[nodiscard]] float loss() const { return loss_.item(); }
  /// Drops every part, in the order that `random` gives.
  void drop(std::mt19937& random);

 private:
  nn::Sequential model_;
  std::vector<Tensor> parameters_;
  std::optional<nn::Adam> adam_;
  Tensor input_;
  Tensor target_;
  Tensor loss_;
};

}  // namespace forebay::tools
