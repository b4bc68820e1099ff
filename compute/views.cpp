// reshape, transpose and broadcast_to: other shapes over the same elements.
#include <algorithm>
#include <array>

#include "compute/strides.hpp"
#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Action;
using compute::ActionRecord;
using compute::Engine;
using compute::engine_of;
using compute::Node;
using compute::NodeRef;
using compute::record;

[[noreturn]] void throw_reshape(const Dims& from, const Dims& to) {
  throw ShapeError("shape " + to_string(from) + " cannot become " + to_string(to));
}

// `shape` with its -1 replaced.
Dims resolved(const Dims& from, std::int64_t numel, Dims shape) {
  const auto* const open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    const auto at = static_cast<std::size_t>(open - shape.begin());
    shape[at] = 1;
    const std::int64_t rest =
        std::find(shape.begin(), shape.end(), -1) == shape.end() ? checked_numel(shape) : 0;
    if (rest == 0 || numel % rest != 0) {
      shape[at] = -1;
      throw_reshape(from, shape);
    }
    shape[at] = numel / rest;
  }
  if (checked_numel(shape) != numel) throw_reshape(from, shape);
  return shape;
}

// `node` in another shape, by `strides_of(node)`.
template <typename StridesOf>
NodeRef with_shape(Engine& engine, const NodeRef& node, const Dims& shape, StridesOf&& strides_of) {
  const std::lock_guard lock(engine.mutex());
  if (!node->is(compute::NodeKind::constant)) engine.evaluate(node, compute::kEndConsumer);
  return engine.view(node, shape, strides_of(*node));
}

Tensor recorded(Action action, const Tensor& input, NodeRef node, std::span<const int> axes = {}) {
  Tensor output(std::move(node));
  record({.action = action, .inputs = {&input, 1}, .output = output, .axes = axes}, output);
  return output;
}

NodeRef reshaped(Engine& engine, const NodeRef& node, const Dims& shape) {
  const std::lock_guard lock(engine.mutex());
  engine.settle(*node);
  if (node->is(compute::NodeKind::constant) && !node->contiguous) {
    return engine.constant(shape, node->type, node->bits);
  }
  const NodeRef source =
      node->is(compute::NodeKind::constant) ? node : engine.contiguous(node, compute::kEndConsumer);
  return with_shape(engine, source, shape,
                    [&](const Node& /*same*/) { return contiguous_strides(shape); });
}

}  // namespace

Tensor Tensor::reshape(const Dims& shape) const {
  Engine& engine = engine_of(*this);
  const Dims target = resolved(this->shape(), numel(), shape);
  return recorded(Action::reshape, *this, reshaped(engine, node_, target));
}

Tensor Tensor::transpose(int a, int b) const {
  Engine& engine = engine_of(*this);
  const std::array<int, 2> axes{compute::checked_any_axis(a, shape(), "transpose"),
                                compute::checked_any_axis(b, shape(), "transpose")};
  const auto exchanged = [&](Dims dims) {
    if (!dims.empty())
      std::swap(dims[static_cast<std::size_t>(axes[0])], dims[static_cast<std::size_t>(axes[1])]);
    return dims;
  };
  NodeRef node = with_shape(engine, node_, exchanged(shape()),
                            [&](const Node& source) { return exchanged(source.strides); });
  return recorded(Action::transpose, *this, std::move(node), axes);
}

Tensor Tensor::broadcast_to(const Dims& shape) const {
  Engine& engine = engine_of(*this);
  (void)checked_numel(shape);
  compute::require_broadcast("broadcast_to: a tensor", this->shape(), shape);
  NodeRef node = with_shape(engine, node_, shape, [&](const Node& source) {
    return compute::broadcast_strides(source.shape, source.strides, shape);
  });
  return recorded(Action::broadcast, *this, std::move(node));
}

}  // namespace forebay
