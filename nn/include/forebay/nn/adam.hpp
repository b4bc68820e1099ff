// Adam: one launch for any number of parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "forebay/compute/tensor.hpp"

namespace forebay::nn {

/// Rate and constants of Adam. Their ranges are checked where an Adam is made.
class AdamOptions {
 public:
  explicit AdamOptions(double lr = 1e-3) : lr_(lr) {}
  AdamOptions& lr(double value) {
    lr_ = value;
    return *this;
  }
  AdamOptions& betas(std::pair<double, double> value) {
    betas_ = value;
    return *this;
  }
  AdamOptions& eps(double value) {
    eps_ = value;
    return *this;
  }
  AdamOptions& weight_decay(double value) {
    weight_decay_ = value;
    return *this;
  }
  [[nodiscard]] double lr() const noexcept { return lr_; }
  [[nodiscard]] std::pair<double, double> betas() const noexcept { return betas_; }
  [[nodiscard]] double eps() const noexcept { return eps_; }
  [[nodiscard]] double weight_decay() const noexcept { return weight_decay_; }

 private:
  double lr_;
  std::pair<double, double> betas_{0.9, 0.999};
  double eps_ = 1e-8;
  double weight_decay_ = 0;
};

/// Adam (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1), with
/// epsilon added after the bias correction as PyTorch does:
///
///     g ← g + weight_decay · p                  m ← m + (1 - β₁)(g - m)
///     v ← v + (1 - β₂)(g² - v)                  p ← p - lr · m̂ / (√v̂ + ε)
///     m̂ = m / (1 - β₁ᵗ)                         v̂ = v / (1 - β₂ᵗ)
///
/// A step is one launch that works in place and allocates nothing: the device holds a table of
/// addresses and, beside it, rate, step counts and powers of β, which the kernel itself advances,
/// so that a captured step replays correctly. t counts the steps that a parameter took part in; one
/// without a gradient so far is skipped. The step that makes or changes the table cannot be
/// captured (CaptureError): take one before.
///
/// One that was moved from throws Error from every function until another is assigned to it.
///
/// Thread safety: one thread at a time. Invariants:
/// 1. The table is rebuilt only when an address or the set of parameters with a gradient changed;
///    each time counts in `tensor_tables`.
/// 2. Memory is allocated only when a parameter has its first gradient.
class Adam {
 public:
  /// `parameters` are distinct leaves on one device. Throws Error for a parameter that is no leaf
  /// or comes twice, ShapeError for two devices, ConfigError for an option out of range,
  /// OutOfMemory.
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = AdamOptions());
  Adam(Adam&& other) noexcept;
  Adam& operator=(Adam&& other) noexcept;
  ~Adam();

  /// Updates every parameter that has a gradient, in place; enqueued, not waited for. Lazy
  /// expressions that read a parameter see it as it was: they are evaluated before. REQUIRES: no
  /// graph that `backward` will still walk, which would see the new values. A graph keeps no copies
  /// of parameters, so a step between forward and backward makes wrong gradients, and nothing
  /// reports it.
  void step();
  /// zero_grad for every parameter.
  void zero_grad();
  /// From the next step on; no rebuild. Throws ConfigError for a rate below 0 or beyond f32.
  void set_lr(double lr);
  /// The steps taken so far, read from the device. Waits.
  [[nodiscard]] std::int64_t steps() const;

 private:
  class State;
  [[nodiscard]] State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace forebay::nn
