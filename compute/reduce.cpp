// Reductions.
#include <algorithm>
#include <limits>

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

// A bit for each dimension: whether it is reduced.
using ReducedDims = std::uint8_t;
static_assert(kMaxRank <= 8 * sizeof(ReducedDims));

bool is_reduced(ReducedDims dims, std::size_t d) { return ((dims >> d) & 1U) != 0; }

ReducedDims checked_axes(std::span<const int> axes, const Dims& shape, const char* what) {
  const auto all = static_cast<ReducedDims>((1U << shape.size()) - 1);
  if (axes.empty()) return all;
  ReducedDims dims = 0;
  for (const int given : axes) {
    const int axis = compute::checked_any_axis(given, shape, what);
    if (is_reduced(dims, static_cast<std::size_t>(axis))) {
      throw ShapeError(std::string(what) + ": axis " + std::to_string(axis) +
                       " is given twice for shape " + to_string(shape));
    }
    dims |= static_cast<ReducedDims>(1U << axis);
  }
  return dims & all;
}

// As they are given, from the first on.
std::vector<int> axes_of(ReducedDims dims) {
  std::vector<int> axes;
  for (int axis = 0; dims >> axis != 0; ++axis) {
    if (is_reduced(dims, static_cast<std::size_t>(axis))) axes.push_back(axis);
  }
  return axes;
}

struct ReducedShape {
  Dims shape;  // of the result
  ReducedDims dims = 0;
};

ReducedShape reduced_shape(const Dims& shape, ReducedDims dims, bool keepdim) {
  ReducedShape result{.shape = {}, .dims = dims};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!is_reduced(dims, d)) {
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
    if (!is_reduced(to.dims, d) || input.shape[d] != 0) continue;
    throw ShapeError(std::string(to_string(op)) + " of no elements: axis " + std::to_string(d) +
                     " of shape " + to_string(input.shape));
  }
}

NodeRef reduced(Engine& engine, ReduceOp op, const NodeRef& input, const ReducedShape& to,
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
  return engine.reduce(op, input, to.dims, to.shape, own_references);
}

// `own_references`: 1 if `input` ends with the caller, so that nobody but autograd sees it again.
Tensor reduce(ReduceOp op, const Tensor& input, std::span<const int> axes, bool keepdim,
              std::uint32_t own_references) {
  Engine& engine = engine_of(input);
  if (!has_type(op, input.dtype())) {
    throw ShapeError(std::string(to_string(op)) + " has no form for " +
                     std::string(to_string(input.dtype())) + " " + to_string(input.shape()));
  }
  const ReducedDims dims = checked_axes(axes, input.shape(), to_string(op));
  const ReducedShape to = reduced_shape(input.shape(), dims, keepdim);
  // An index has no derivative.
  const bool indexed = op == ReduceOp::argmin || op == ReduceOp::argmax;
  const bool recorded = input.autograd() != nullptr && !indexed;
  Tensor output(reduced(engine, op, input.node(), to, own_references));
  if (recorded) {
    const Action action = op == ReduceOp::sum    ? Action::sum
                          : op == ReduceOp::mean ? Action::mean
                          : op == ReduceOp::prod ? Action::prod
                                                 : Action::extreme;
    const std::vector<int> reduced_axes = axes_of(dims);
    record({.action = action, .inputs = {&input, 1}, .output = output, .axes = reduced_axes},
           output);
  }
  return output;
}

// The axes, checked under the name of a function that is put together from other reductions.
std::vector<int> sorted_axes(std::span<const int> axes, const Tensor& input, const char* what) {
  return axes_of(checked_axes(axes, input.shape(), what));
}

// Elements of `shape` behind one result.
std::int64_t elements_of_result(const Dims& shape, ReducedDims dims) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) count *= is_reduced(dims, d) ? shape[d] : 1;
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

Tensor Tensor::sum(const Axes& axes, bool keepdim) const& {
  return reduce(ReduceOp::sum, *this, axes, keepdim, 0);
}
Tensor Tensor::sum(const Axes& axes, bool keepdim) && {
  const Tensor consumed = std::move(*this);
  return reduce(ReduceOp::sum, consumed, axes, keepdim, 1);
}
Tensor Tensor::mean(const Axes& axes, bool keepdim) const& {
  return reduce(ReduceOp::mean, *this, axes, keepdim, 0);
}
Tensor Tensor::mean(const Axes& axes, bool keepdim) && {
  const Tensor consumed = std::move(*this);
  return reduce(ReduceOp::mean, consumed, axes, keepdim, 1);
}

#define FOREBAY_REDUCTION(name)                               \
  Tensor Tensor::name(const Axes& axes, bool keepdim) const { \
    return reduce(ReduceOp::name, *this, axes, keepdim, 0);   \
  }
FOREBAY_REDUCTION(prod)
FOREBAY_REDUCTION(min)
FOREBAY_REDUCTION(max)
FOREBAY_REDUCTION(argmin)
FOREBAY_REDUCTION(argmax)
#undef FOREBAY_REDUCTION

Tensor Tensor::any(const Axes& axes, bool keepdim) const {
  const std::vector<int> sorted = sorted_axes(axes, *this, "any");
  // Of nothing there is none; numbers join as booleans by or.
  if (numel() == 0) return greater(to(DType::boolean).sum(sorted, keepdim), 0);
  return reduce(ReduceOp::max, to(DType::boolean), sorted, keepdim, 1);
}
Tensor Tensor::all(const Axes& axes, bool keepdim) const {
  const std::vector<int> sorted = sorted_axes(axes, *this, "all");
  if (numel() == 0) return greater(to(DType::boolean).prod(sorted, keepdim), 0);
  return reduce(ReduceOp::min, to(DType::boolean), sorted, keepdim, 1);
}

Tensor Tensor::var(const Axes& axes, bool unbiased, bool keepdim) const {
  if (category_of(dtype()) != Category::real) {
    throw ShapeError("var has no form for " + std::string(to_string(dtype())) + " " +
                     to_string(shape()));
  }
  const Tensor wide = widened(*this);
  const ReducedDims dims = checked_axes(axes, shape(), "var");
  const std::vector<int> sorted = axes_of(dims);
  const auto freedom = static_cast<double>(elements_of_result(shape(), dims) - (unbiased ? 1 : 0));
  // Nothing is left to divide by, and 0 / 0 says so.
  return (squared(wide - wide.mean(sorted, true)).sum(sorted, keepdim) / std::max(freedom, 0.0))
      .to(dtype());
}

Tensor Tensor::norm(const Axes& axes, bool keepdim) const {
  if (category_of(dtype()) != Category::real) {
    throw ShapeError("norm has no form for " + std::string(to_string(dtype())) + " " +
                     to_string(shape()));
  }
  const std::vector<int> sorted = sorted_axes(axes, *this, "norm");
  const Tensor wide = widened(*this);
  return sqrt(squared(wide).sum(sorted, keepdim)).to(dtype());
}

}  // namespace forebay
