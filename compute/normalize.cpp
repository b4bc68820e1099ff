// softmax, log_softmax and layer_norm.
#include "forebay/compute/normalize.hpp"

#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "compute/row_programs.hpp"
#include "compute/strides.hpp"
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

// Whether one pass over the rows will do. Autograd follows operations, so it takes those; a row of
// one element needs no pass.
bool by_rows(const Tensor& x, int axis) {
  const Dims& shape = x.shape();
  return x.autograd() == nullptr && category_of(x.dtype()) == Category::real &&
         axis == static_cast<int>(shape.size()) - 1 && shape[shape.size() - 1] > 1;
}

// `number` as a scalar of what values of `type` are computed in.
std::uint64_t scalar_bits(double number, DType type) {
  return type == DType::f64 ? std::bit_cast<std::uint64_t>(number)
                            : std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

Tensor run_rows(const compute::RowProgram& program, const Tensor& x,
                std::vector<std::uint64_t> scalars) {
  return Tensor(
      compute::engine_of(x).run_rows(program, {{x.node()}}, std::move(scalars), x.dtype()));
}

bool is_column(const std::optional<Tensor>& part, const Tensor& x) {
  return !part || (part->autograd() == nullptr && category_of(part->dtype()) == Category::real &&
                   (part->dtype() != DType::f64 || x.dtype() == DType::f64) &&
                   &part->device() == &x.device() && part->rank() == 1 &&
                   part->shape()[0] == x.shape()[x.rank() - 1]);
}

Tensor layer_norm_by_rows(const Tensor& x, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, double eps) {
  std::vector<compute::NodeRef> inputs{x.node()};
  const auto type_of = [&](const std::optional<Tensor>& part) -> std::optional<DType> {
    if (!part) return std::nullopt;
    inputs.push_back(part->node());
    return part->dtype();
  };
  const std::optional<DType> weight_type = type_of(weight);
  const std::optional<DType> bias_type = type_of(bias);
  return Tensor(
      compute::engine_of(x).run_rows(compute::layer_norm_rows(x.dtype(), weight_type, bias_type),
                                     inputs, {scalar_bits(eps, x.dtype())}, x.dtype()));
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  const std::array<int, 1> axes{compute::checked_any_axis(axis, x.shape(), "softmax")};
  if (x.numel() == 0) return empty(x.shape(), x.device(), result_type(x));
  if (by_rows(x, axes[0])) {
    return run_rows(compute::softmax_rows(x.dtype()), x, {scalar_bits(1, x.dtype())});
  }
  // One division a row: those of all elements would take longer than their powers.
  const Tensor powers = exp(shifted(x, axes));
  return (powers * (1.0F / powers.sum(axes, true))).to(result_type(x));
}

Tensor log_softmax(const Tensor& x, int axis) {
  const std::array<int, 1> axes{compute::checked_any_axis(axis, x.shape(), "log_softmax")};
  if (x.numel() == 0) return empty(x.shape(), x.device(), result_type(x));
  if (by_rows(x, axes[0])) {
    return run_rows(compute::log_softmax_rows(x.dtype()), x, {});
  }
  const Tensor low = shifted(x, axes);
  return (low - log(exp(low).sum(axes, true))).to(result_type(x));
}

Tensor layer_norm(const Tensor& x, int dimensions, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps) {
  const int rank = static_cast<int>(x.rank());
  if (category_of(x.dtype()) != Category::real) {
    throw ShapeError("layer_norm has no form for " + std::string(to_string(x.dtype())));
  }
  if (dimensions < 1 || dimensions > rank) {
    throw ShapeError("layer_norm over the last " + std::to_string(dimensions) + " dimensions of " +
                     to_string(x.shape()) + ": " +
                     (rank == 0   ? "there is none"
                      : rank == 1 ? "one is allowed"
                                  : "1 to " + std::to_string(rank) + " are allowed"));
  }
  // Else the result would have another shape than x.
  if (weight) compute::require_broadcast("layer_norm: a weight", weight->shape(), x.shape());
  if (bias) compute::require_broadcast("layer_norm: a bias", bias->shape(), x.shape());
  if (dimensions == 1 && x.numel() != 0 && by_rows(x, rank - 1) && is_column(weight, x) &&
      is_column(bias, x)) {
    return layer_norm_by_rows(x, weight, bias, eps);
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
