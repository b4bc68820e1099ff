#include "forebay/nn/loss.hpp"

#include <utility>

namespace forebay::nn {

Tensor mse_loss(Tensor input, Tensor target) {
  if (input.shape() != target.shape()) {
    throw ShapeError("mse_loss: input has shape " + to_string(input.shape()) + ", target " +
                     to_string(target.shape()) + "; they must be equal");
  }
  Tensor difference = std::move(input) - std::move(target);
  Tensor same = difference;
  return (std::move(same) * std::move(difference)).mean();
}

}  // namespace forebay::nn
