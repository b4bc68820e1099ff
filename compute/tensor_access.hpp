// What the files behind tensor.hpp share.
#pragma once

#include <span>
#include <string>

#include "compute/engine.hpp"
#include "compute/node.hpp"
#include "forebay/compute/autograd_hook.hpp"
#include "forebay/compute/tensor.hpp"

namespace forebay::compute {

/// The node of a tensor. Throws ShapeError for a tensor that was never given a value.
[[nodiscard]] inline const NodeRef& node_of(const Tensor& tensor) {
  if (!tensor.defined()) throw ShapeError("a tensor that was never given a value is used");
  return tensor.node();
}

/// `type` itself. Throws ShapeError for a value that is none of the enumeration.
inline DType checked_type(DType type) {
  const auto value = static_cast<std::size_t>(type);
  if (value > static_cast<std::size_t>(DType::boolean)) {
    throw ShapeError("the number " + std::to_string(value) + " is no type of elements");
  }
  return type;
}

/// The engine of a tensor's device. Throws ClosedError, ShapeError for no tensor.
[[nodiscard]] inline Engine& engine_of(const Tensor& tensor) {
  const Node& node = *node_of(tensor);
  node.device->require_open();
  return *node.engine;
}

/// Lets the first input that takes part in autograd see what was done, and hangs its answer on the
/// output. Cost without autograd: one test for each input.
inline void record(const ActionRecord& record, Tensor& output) {
  for (const Tensor& input : record.inputs) {
    if (input.autograd() != nullptr) {
      output.set_autograd(input.autograd()->record(record));
      return;
    }
  }
}

/// `assign(target, value)` on behalf of `what`, which errors name.
void assign_as(const char* what, const Tensor& target, Tensor&& value);

/// `axis` counted from the front. Throws ShapeError naming `what` and the shape.
[[nodiscard]] inline int checked_axis(int axis, const Dims& shape, const char* what) {
  const int rank = static_cast<int>(shape.size());
  if (axis < -rank || axis >= rank) {
    throw ShapeError(std::string(what) + ": axis " + std::to_string(axis) + " is not in shape " +
                     to_string(shape));
  }
  return axis < 0 ? axis + rank : axis;
}

/// The same where a tensor without dimensions counts as one of a single element: what reduces or
/// picks along an axis, or exchanges axes.
[[nodiscard]] inline int checked_any_axis(int axis, const Dims& shape, const char* what) {
  if (shape.empty() && (axis == 0 || axis == -1)) return 0;
  return checked_axis(axis, shape, what);
}

}  // namespace forebay::compute
