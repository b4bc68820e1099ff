// softmax, log_softmax and layer_norm.
#include "forebay/compute/normalize.hpp"

#include <array>
#include <vector>

#include "compute/tensor_access.hpp"
#include "forebay/compute/math.hpp"

namespace forebay {
namespace {

DType result_type(const Tensor& x) {
  return category_of(x.dtype()) == Category::real ? x.dtype() : DType::f32;
}

Tensor at_least_f32(const Tensor& x) { return result_type(x) == DType::f64 ? x : x.to(DType::f32); }

// x less its largest along the axis: e^ of it does not overflow. The shift changes no gradient.
Tensor shifted(const Tensor& x, std::span<const int> axis) {
  const Tensor wide = at_least_f32(x);
  return wide - wide.detach().max(axis, true);
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  const std::array<int, 1> axes{compute::checked_axis(axis, x.shape(), "softmax")};
  if (x.numel() == 0) return empty(x.shape(), x.device(), result_type(x));
  const Tensor powers = exp(shifted(x, axes));
  return (powers / powers.sum(axes, true)).to(result_type(x));
}

Tensor log_softmax(const Tensor& x, int axis) {
  const std::array<int, 1> axes{compute::checked_axis(axis, x.shape(), "log_softmax")};
  if (x.numel() == 0) return empty(x.shape(), x.device(), result_type(x));
  const Tensor low = shifted(x, axes);
  return (low - log(exp(low).sum(axes, true))).to(result_type(x));
}

Tensor layer_norm(const Tensor& x, int dimensions, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps) {
  const int rank = static_cast<int>(x.rank());
  if (dimensions < 1 || dimensions > rank || category_of(x.dtype()) != Category::real) {
    throw ShapeError("layer_norm over the last " + std::to_string(dimensions) + " dimensions of " +
                     std::string(to_string(x.dtype())) + " " + to_string(x.shape()));
  }
  std::vector<int> axes;
  for (int d = rank - dimensions; d < rank; ++d) axes.push_back(d);
  const Tensor wide = at_least_f32(x);
  const Tensor centred = wide - wide.mean(axes, true);
  Tensor result = centred * rsqrt((centred * centred).mean(axes, true) + eps);
  if (weight) result = std::move(result) * at_least_f32(*weight);
  if (bias) result = std::move(result) + at_least_f32(*bias);
  return result.to(x.dtype());
}

}  // namespace forebay
