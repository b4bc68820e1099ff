// The layers: Linear, ReLU, Sequential.
#pragma once

#include <cstdint>

#include "forebay/nn/module.hpp"

namespace forebay::nn {

/// Extents of a Linear and whether it has a bias.
class LinearOptions {
 public:
  LinearOptions(std::int64_t in_features, std::int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  LinearOptions& bias(bool with_bias) {
    bias_ = with_bias;
    return *this;
  }
  [[nodiscard]] std::int64_t in_features() const noexcept { return in_features_; }
  [[nodiscard]] std::int64_t out_features() const noexcept { return out_features_; }
  [[nodiscard]] bool bias() const noexcept { return bias_; }

 private:
  std::int64_t in_features_;
  std::int64_t out_features_;
  bool bias_ = true;
};

/// input · weightᵀ + bias over the last dimension: [..., in] → [..., out].
class LinearImpl final : public Module {
 public:
  /// Weight and bias are uniform in [-1/√in, 1/√in), drawn from `key`: equal keys give equal layers
  /// on every device. Throws ShapeError for a negative extent, OutOfMemory.
  LinearImpl(const LinearOptions& settings, Device& device, std::uint64_t key);
  /// Throws ShapeError unless the last extent of `input` is `in_features`.
  [[nodiscard]] Tensor forward(Tensor input) override;

  LinearOptions options;
  Tensor weight;  ///< [out, in]
  Tensor bias;    ///< [out]; undefined without one
};
class Linear : public ModuleHolder<LinearImpl> {
 public:
  using ModuleHolder::ModuleHolder;
};

/// max(input, 0); NaN stays NaN.
class ReLUImpl final : public Module {
 public:
  [[nodiscard]] Tensor forward(Tensor input) override;
};
class ReLU : public ModuleHolder<ReLUImpl> {
 public:
  using ModuleHolder::ModuleHolder;
};

/// Modules one after the other, named "0", "1" …
class SequentialImpl final : public Module {
 public:
  SequentialImpl() = default;
  template <Holder... Holders>
  requires(sizeof...(Holders) > 0) explicit SequentialImpl(const Holders&... holders) {
    (push_back(holders), ...);
  }
  /// Throws Error for null and for a module that is this one or contains it.
  void push_back(std::shared_ptr<Module> module);
  template <Holder H>
  void push_back(const H& holder) {
    push_back(std::shared_ptr<Module>(holder.ptr()));
  }
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  [[nodiscard]] Tensor forward(Tensor input) override;

 private:
  std::vector<std::shared_ptr<Module>> order_;
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder::ModuleHolder;
};

/// A key for the `index`-th of several independent things drawn from one key (SplitMix64; Steele,
/// Lea and Flood, OOPSLA 2014).
[[nodiscard]] std::uint64_t derive_key(std::uint64_t key, std::uint64_t index) noexcept;

}  // namespace forebay::nn
