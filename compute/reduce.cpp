// sum and mean.
#include <algorithm>
#include <limits>
#include <numeric>

#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Action;
using compute::Engine;
using compute::engine_of;
using compute::NodeRef;
using compute::record;
using compute::ReduceOp;

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

NodeRef reduced(Engine& engine, ReduceOp op, NodeRef input, const ReducedShape& to,
                std::uint32_t own_references) {
  if (input->numel == 0) {
    const double identity = op == ReduceOp::mean ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    return full(to.shape, identity, engine.device(), rule_of(op, input->type).result).node();
  }
  return engine.reduce(op, std::move(input), to.dims, to.shape, own_references);
}

// `input` is consumed, unless autograd has to see it.
Tensor reduce(ReduceOp op, Tensor input, std::span<const int> axes, bool keepdim) {
  Engine& engine = engine_of(input);
  const bool mean = op == ReduceOp::mean;
  if (!has_type(op, input.dtype())) {
    throw ShapeError(std::string(to_string(op)) + " has no form for " +
                     std::string(to_string(input.dtype())) + " " + to_string(input.shape()));
  }
  const std::vector<int> sorted = checked_axes(axes, input.shape(), mean ? "mean" : "sum");
  const ReducedShape to = reduced_shape(input.shape(), sorted, keepdim);
  const bool recorded = input.autograd() != nullptr;
  NodeRef node = input.node();
  if (!recorded) input = Tensor();
  Tensor output(reduced(engine, op, std::move(node), to, recorded ? 2 : 1));
  if (recorded) {
    record({.action = mean ? Action::mean : Action::sum,
            .inputs = {&input, 1},
            .output = output,
            .axes = sorted},
           output);
  }
  return output;
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

}  // namespace forebay
