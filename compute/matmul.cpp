// Matrix products: finds out how the operands lie in memory, and copies those that lie otherwise.
#include <array>

#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Engine;
using compute::engine_of;
using compute::Node;
using compute::NodeRef;
using compute::record;

struct Layout {
  std::int64_t stride = 0;  // elements between rows as stored
  bool transposed = false;
};

// Whether rows of a matrix, or of its transpose, lie one after the other.
bool find_layout(const Node& matrix, Layout* layout) {
  const std::int64_t rows = matrix.shape[0];
  const std::int64_t columns = matrix.shape[1];
  const std::int64_t row = matrix.strides[0];
  const std::int64_t column = matrix.strides[1];
  if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
    *layout = {rows == 1 ? columns : row, false};
    return true;
  }
  if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
    *layout = {columns == 1 ? rows : column, true};
    return true;
  }
  return false;
}

NodeRef matrix(Engine& engine, const NodeRef& node, Layout* layout) {
  engine.evaluate(node, compute::kEndConsumer);
  // What cuBLASLt's algorithms were chosen for.
  constexpr std::uintptr_t kAlignment = 16;
  const bool aligned = reinterpret_cast<std::uintptr_t>(node->address()) % kAlignment == 0;
  if (aligned && find_layout(*node, layout)) return node;
  NodeRef copy = engine.copy(node, compute::kEndConsumer);
  find_layout(*copy, layout);
  return copy;
}

NodeRef multiply(Engine& engine, const NodeRef& a, const NodeRef& b) {
  const std::lock_guard lock(engine.mutex());
  const Dims shape{a->shape[0], b->shape[1]};
  const std::int64_t k = a->shape[1];
  if (k == 0) return zeros(shape, engine.device()).node();
  NodeRef c = engine.uninitialized(shape, DType::f32);
  if (c->numel == 0) return c;
  Layout a_layout;
  Layout b_layout;
  const NodeRef a_matrix = matrix(engine, a, &a_layout);
  const NodeRef b_matrix = matrix(engine, b, &b_layout);
  engine.keep(*a_matrix);
  engine.keep(*b_matrix);
  const Engine::UnderWay under_way(engine);
  engine.backend().matmul({.m = shape[0],
                           .n = shape[1],
                           .k = k,
                           .a = static_cast<const float*>(a_matrix->address()),
                           .a_stride = a_layout.stride,
                           .a_transposed = a_layout.transposed,
                           .b = static_cast<const float*>(b_matrix->address()),
                           .b_stride = b_layout.stride,
                           .b_transposed = b_layout.transposed,
                           .c = static_cast<float*>(c->address())},
                          engine.device().default_stream());
  return c;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  Engine& engine = engine_of(a);
  const auto refuse = [&](const char* needs) {
    throw ShapeError(std::string("matmul needs ") + needs + ", not " +
                     std::string(to_string(a.dtype())) + " " + to_string(a.shape()) + " and " +
                     std::string(to_string(b.dtype())) + " " + to_string(b.shape()));
  };
  if (a.rank() != 2 || b.rank() != 2 || a.shape()[1] != b.shape()[0]) refuse("[m, k] and [k, n]");
  if (a.dtype() != DType::f32 || b.dtype() != DType::f32) refuse("f32");
  if (&a.device() != &b.device()) {
    throw ShapeError("matmul: one matrix is on " + a.device().id() + ", the other on " +
                     b.device().id_beside(a.device()));
  }
  const std::array<Tensor, 2> inputs{a, b};
  Tensor output(multiply(engine, a.node(), b.node()));
  record({.action = compute::Action::matmul, .inputs = inputs, .output = output}, output);
  return output;
}

}  // namespace forebay
