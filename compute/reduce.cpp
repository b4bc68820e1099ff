// Reductions.
#include <algorithm>
#include <limits>
#include <numeric>

#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Action;
using compute::Engine;
using compute::engine_of;
using compute::Identity;
using compute::NodeRef;
using compute::record;
using compute::ReduceOp;
using compute::ReduceRule;

std::vector<int> checked_axes(std::span<const int> axes, const Dims& shape, const char* what) {
  std::vector<int> result;
  if (axes.empty()) {
    result.resize(shape.size());
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (const int axis : axes) result.push_back(compute::checked_axis(axis, shape, what));
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) {
    throw ShapeError(std::string(what) + ": axis " + std::to_string(*twice) +
                     " is given twice for shape " + to_string(shape));
  }
  return result;
}

struct ReducedShape {
  Dims shape;             // of the result
  std::uint8_t dims = 0;  // bit d: dimension d is reduced
};

ReducedShape reduced_shape(const Dims& shape, std::span<const int> axes, bool keepdim) {
  ReducedShape result;
  for (const int axis : axes) result.dims |= static_cast<std::uint8_t>(1U << axis);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (((result.dims >> d) & 1U) == 0) {
      result.shape.push_back(shape[d]);
    } else if (keepdim) {
      result.shape.push_back(1);
    }
  }
  return result;
}

// Nothing has no least element; no results of nothing are fine.
void throw_if_of_nothing(ReduceOp op, const compute::Node& input, const ReducedShape& to) {
  for (std::size_t d = 0; d < input.shape.size(); ++d) {
    if (((to.dims >> d) & 1U) == 0 || input.shape[d] != 0) continue;
    throw ShapeError(std::string(to_string(op)) + " of no elements: axis " + std::to_string(d) +
                     " of shape " + to_string(input.shape));
  }
}

NodeRef reduced(Engine& engine, ReduceOp op, NodeRef input, const ReducedShape& to,
                std::uint32_t own_references) {
  if (input->numel == 0) {
    const ReduceRule rule = rule_of(op, input->type);
    if (rule.identity == Identity::highest || rule.identity == Identity::lowest) {
      throw_if_of_nothing(op, *input, to);
    }
    const double nothing = rule.divides ? std::numeric_limits<double>::quiet_NaN()
                           : rule.identity == Identity::one ? 1.0
                                                            : 0.0;
    return full(to.shape, nothing, engine.device(), rule.result).node();
  }
  return engine.reduce(op, std::move(input), to.dims, to.shape, own_references);
}

// `input` is consumed, unless autograd has to see it.
Tensor reduce(ReduceOp op, Tensor input, std::span<const int> axes, bool keepdim) {
  Engine& engine = engine_of(input);
  if (!has_type(op, input.dtype())) {
    throw ShapeError(std::string(to_string(op)) + " has no form for " +
                     std::string(to_string(input.dtype())) + " " + to_string(input.shape()));
  }
  const std::vector<int> sorted = checked_axes(axes, input.shape(), to_string(op));
  const ReducedShape to = reduced_shape(input.shape(), sorted, keepdim);
  // An index has no derivative.
  const bool indexed = op == ReduceOp::argmin || op == ReduceOp::argmax;
  const bool recorded = input.autograd() != nullptr && !indexed;
  NodeRef node = input.node();
  if (!recorded) input = Tensor();
  Tensor output(reduced(engine, op, std::move(node), to, recorded ? 2 : 1));
  if (recorded) {
    const Action action = op == ReduceOp::sum    ? Action::sum
                          : op == ReduceOp::mean ? Action::mean
                          : op == ReduceOp::prod ? Action::prod
                                                 : Action::extreme;
    record({.action = action, .inputs = {&input, 1}, .output = output, .axes = sorted}, output);
  }
  return output;
}

// Elements of `shape` behind one result.
std::int64_t elements_of_result(const Dims& shape, const std::vector<int>& axes) {
  std::int64_t count = 1;
  for (const int axis : axes) count *= shape[static_cast<std::size_t>(axis)];
  return count;
}

// Consumes both of its operands, so that a temporary is not stored.
Tensor squared(Tensor tensor) {
  Tensor again = tensor;
  return std::move(tensor) * std::move(again);
}

// f16 and bf16 in f32, so that squares and differences are not rounded on the way.
Tensor widened(const Tensor& tensor) {
  const DType type = tensor.dtype();
  return type == DType::f16 || type == DType::bf16 ? tensor.to(DType::f32) : tensor;
}

}  // namespace

Tensor Tensor::sum(std::span<const int> axes, bool keepdim) const& {
  return reduce(ReduceOp::sum, *this, axes, keepdim);
}
Tensor Tensor::sum(std::span<const int> axes, bool keepdim) && {
  return reduce(ReduceOp::sum, std::move(*this), axes, keepdim);
}
Tensor Tensor::mean(std::span<const int> axes, bool keepdim) const& {
  return reduce(ReduceOp::mean, *this, axes, keepdim);
}
Tensor Tensor::mean(std::span<const int> axes, bool keepdim) && {
  return reduce(ReduceOp::mean, std::move(*this), axes, keepdim);
}

#define FOREBAY_REDUCTION(name)                                        \
  Tensor Tensor::name(std::span<const int> axes, bool keepdim) const { \
    return reduce(ReduceOp::name, *this, axes, keepdim);               \
  }
FOREBAY_REDUCTION(prod)
FOREBAY_REDUCTION(min)
FOREBAY_REDUCTION(max)
FOREBAY_REDUCTION(argmin)
FOREBAY_REDUCTION(argmax)
#undef FOREBAY_REDUCTION

Tensor Tensor::any(std::span<const int> axes, bool keepdim) const {
  // Of nothing there is none; numbers join as booleans by or.
  if (numel() == 0) return greater(to(DType::boolean).sum(axes, keepdim), 0);
  return reduce(ReduceOp::max, to(DType::boolean), axes, keepdim);
}
Tensor Tensor::all(std::span<const int> axes, bool keepdim) const {
  if (numel() == 0) return greater(to(DType::boolean).prod(axes, keepdim), 0);
  return reduce(ReduceOp::min, to(DType::boolean), axes, keepdim);
}

Tensor Tensor::var(std::span<const int> axes, bool unbiased, bool keepdim) const {
  if (category_of(dtype()) != Category::real) {
    throw ShapeError("var has no form for " + std::string(to_string(dtype())) + " " +
                     to_string(shape()));
  }
  const Tensor wide = widened(*this);
  const std::vector<int> sorted = checked_axes(axes, shape(), "var");
  const auto freedom =
      static_cast<double>(elements_of_result(shape(), sorted) - (unbiased ? 1 : 0));
  // Nothing is left to divide by, and 0 / 0 says so.
  return (squared(wide - wide.mean(sorted, true)).sum(sorted, keepdim) / std::max(freedom, 0.0))
      .to(dtype());
}

Tensor Tensor::norm(std::span<const int> axes, bool keepdim) const {
  if (category_of(dtype()) != Category::real) {
    throw ShapeError("norm has no form for " + std::string(to_string(dtype())) + " " +
                     to_string(shape()));
  }
  const Tensor wide = widened(*this);
  return sqrt(squared(wide).sum(axes, keepdim)).to(dtype());
}

}  // namespace forebay
