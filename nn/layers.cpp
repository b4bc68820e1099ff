#include "forebay/nn/layers.hpp"

#include <cmath>

#include "forebay/pool/pool.hpp"

namespace forebay::nn {
namespace {

Tensor uniform(const Dims& shape, double bound, std::uint64_t key, Device& device) {
  const auto width = static_cast<float>(2 * bound);
  return random_uniform(shape, key, device) * width - width / 2;
}

}  // namespace

LinearImpl::LinearImpl(const LinearOptions& settings, Device& device, std::uint64_t key)
    : options(settings) {
  const std::int64_t in = options.in_features();
  const std::int64_t out = options.out_features();
  if (in < 0 || out < 0) {
    throw ShapeError("Linear: in_features " + std::to_string(in) + " and out_features " +
                     std::to_string(out) + " must not be negative");
  }
  const pool::AllocationScope scope("nn.parameter");
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  weight = register_parameter("weight", uniform({out, in}, bound, derive_key(key, 0), device));
  if (options.bias()) {
    bias = register_parameter("bias", uniform({out}, bound, derive_key(key, 1), device));
  }
}

Tensor LinearImpl::forward(Tensor input) {
  const std::int64_t in = options.in_features();
  const Dims shape = input.shape();
  if (shape.empty() || shape[shape.size() - 1] != in) {
    throw ShapeError("Linear: an input of shape " + to_string(shape) +
                     " does not end in in_features = " + std::to_string(in));
  }
  if (shape.size() != 2) {
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
    input = input.reshape({rows, in});
  }
  Tensor output = matmul(input, weight.transpose());
  input = {};
  if (bias.defined()) output = std::move(output) + bias;
  if (shape.size() == 2) return output;
  Dims result = shape;
  result[result.size() - 1] = options.out_features();
  return output.reshape(result);
}

Tensor ReLUImpl::forward(Tensor input) { return relu(std::move(input)); }

void SequentialImpl::push_back(std::shared_ptr<Module> module) {
  order_.push_back(register_module(std::to_string(order_.size()), std::move(module)));
}

Tensor SequentialImpl::forward(Tensor input) {
  for (const std::shared_ptr<Module>& module : order_) input = module->forward(std::move(input));
  return input;
}

std::uint64_t derive_key(std::uint64_t key, std::uint64_t index) noexcept {
  std::uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace forebay::nn
