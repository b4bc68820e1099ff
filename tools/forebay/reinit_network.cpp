#include "tools/forebay/reinit_network.hpp"

#include <algorithm>
#include <functional>

namespace forebay::tools {
namespace {

constexpr std::int64_t kBatch = 256;

/// Which of a network's keys is for what; the layers' keys follow.
enum KeyOf : std::uint64_t { kInputKey, kTargetKey, kFirstLayerKey };

nn::Sequential make_model(const Widths& widths, std::uint64_t key, Device& device) {
  nn::Sequential model;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    if (i > 0) model->push_back(nn::ReLU());
    model->push_back(nn::Linear(nn::LinearOptions(widths[i], widths[i + 1]).bias(true), device,
                                nn::derive_key(key, kFirstLayerKey + i)));
  }
  return model;
}

}  // namespace

Widths jittered(Widths widths, std::uint64_t key) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] -= static_cast<std::int64_t>(nn::derive_key(key, i) %
                                           static_cast<std::uint64_t>((widths[i] + 1) / 2));
  }
  return widths;
}

Network::Network(const Widths& widths, std::uint64_t key, Device& device)
    : model_(make_model(widths, key, device)),
      parameters_(model_->parameters()),
      adam_(nn::Adam(parameters_, nn::AdamOptions(1e-3).betas({0.9, 0.999}).eps(1e-5))),
      input_(random_normal({kBatch, widths.front()}, nn::derive_key(key, kInputKey), device)),
      target_(random_normal({kBatch, widths.back()}, nn::derive_key(key, kTargetKey), device)) {
  input_.eval();
  target_.eval();
}

void Network::compute_gradients() {
  adam_->zero_grad();
  loss_ = nn::mse_loss(model_(input_), target_);
  loss_.eval();  // before the step: it reads the parameters as they are now
  nn::backward(loss_);
}

void Network::drop(std::mt19937& random) {
  std::vector<std::function<void()>> drops = {[this] { model_ = nullptr; },
                                              [this] { adam_.reset(); }, [this] { input_ = {}; },
                                              [this] { target_ = {}; }, [this] { loss_ = {}; }};
  for (Tensor& parameter : parameters_) drops.emplace_back([&parameter] { parameter = {}; });
  std::shuffle(drops.begin(), drops.end(), random);
  for (const auto& drop_one : drops) drop_one();
}

}  // namespace forebay::tools
