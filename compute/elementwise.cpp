#include <array>

#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Action;
using compute::Engine;
using compute::engine_of;
using compute::NodeRef;
using compute::Op;
using compute::record;

DType common_type(DType a, DType b) {
  return a == DType::f32 || b == DType::f32 ? DType::f32 : DType::i32;
}

void require_f32(Op op, const Tensor& tensor) {
  if (tensor.dtype() != DType::f32) {
    throw ShapeError(std::string(to_string(op)) + " needs f32, not " +
                     std::string(to_string(tensor.dtype())));
  }
}

void cast(Engine& engine, NodeRef& node, DType type) {
  if (node->type == type) return;
  const Dims shape = node->shape;
  node = engine.operation(type == DType::f32 ? Op::to_f32 : Op::to_i32, type, shape, {&node, 1});
}

// `computed` operands, the last ones, are cast to `type`, which is the result's.
template <std::size_t N>
Tensor apply(Op op, DType type, std::array<Tensor, N> inputs, std::size_t computed = N) {
  Engine& engine = engine_of(inputs[0]);
  Dims shape = inputs[0].shape();
  bool recorded = false;
  for (const Tensor& input : inputs) {
    if (&input.device() != &engine.device()) {
      throw ShapeError(std::string(to_string(op)) + ": one tensor is on " +
                       inputs[0].device().id() + ", another on " + input.device().id());
    }
    shape = broadcast_shapes(shape, input.shape());
    recorded = recorded || input.autograd() != nullptr;
  }
  std::array<NodeRef, N> operands;
  for (std::size_t i = 0; i < N; ++i) {
    operands[i] = inputs[i].node();
    // A node that only the expression holds is neither stored nor kept alive.
    if (!recorded) inputs[i] = Tensor();
    if (i >= N - computed) cast(engine, operands[i], type);
  }
  Tensor output(engine.operation(op, type, shape, operands));
  if (recorded)
    record({.action = Action::elementwise, .op = op, .inputs = inputs, .output = output}, output);
  return output;
}

Tensor unary(Op op, Tensor a) {
  const DType type = a.dtype();
  return apply<1>(op, type, {std::move(a)});
}

Tensor unary_f32(Op op, Tensor a) {
  require_f32(op, a);
  return apply<1>(op, DType::f32, {std::move(a)});
}

Tensor binary(Op op, Tensor a, Tensor b) {
  const DType type = op == Op::div ? DType::f32 : common_type(a.dtype(), b.dtype());
  return apply<2>(op, type, {std::move(a), std::move(b)});
}

// A tensor without dimensions on the device of `beside`.
Tensor constant(Scalar value, const Tensor& beside) {
  Engine& engine = engine_of(beside);
  return Tensor(
      compute::Node::constant(engine.device(), engine, Dims(), value.type(), value.bits()));
}

Tensor binary(Op op, Tensor a, Scalar b) {
  Tensor scalar = constant(b, a);
  return binary(op, std::move(a), std::move(scalar));
}

Tensor binary(Op op, Scalar a, Tensor b) {
  Tensor scalar = constant(a, b);
  return binary(op, std::move(scalar), std::move(b));
}

}  // namespace

#define FOREBAY_OPERATOR(symbol, op)                                                            \
  Tensor operator symbol(Tensor a, Tensor b) { return binary(op, std::move(a), std::move(b)); } \
  Tensor operator symbol(Tensor a, Scalar b) { return binary(op, std::move(a), b); }            \
  Tensor operator symbol(Scalar a, Tensor b) { return binary(op, a, std::move(b)); }
FOREBAY_OPERATOR(+, Op::add)
FOREBAY_OPERATOR(-, Op::sub)
FOREBAY_OPERATOR(*, Op::mul)
FOREBAY_OPERATOR(/, Op::div)
#undef FOREBAY_OPERATOR

Tensor operator-(Tensor a) { return unary(Op::neg, std::move(a)); }
Tensor exp(Tensor a) { return unary_f32(Op::exp, std::move(a)); }
Tensor log(Tensor a) { return unary_f32(Op::log, std::move(a)); }
Tensor sqrt(Tensor a) { return unary_f32(Op::sqrt, std::move(a)); }
Tensor relu(Tensor a) { return unary(Op::relu, std::move(a)); }
Tensor minimum(Tensor a, Tensor b) { return binary(Op::min, std::move(a), std::move(b)); }
Tensor maximum(Tensor a, Tensor b) { return binary(Op::max, std::move(a), std::move(b)); }
Tensor greater(Tensor a, Tensor b) { return binary(Op::greater, std::move(a), std::move(b)); }
Tensor equal(Tensor a, Tensor b) { return binary(Op::equal, std::move(a), std::move(b)); }

Tensor where(Tensor condition, Tensor a, Tensor b) {
  const DType type = common_type(a.dtype(), b.dtype());
  return apply<3>(Op::select, type, {std::move(condition), std::move(a), std::move(b)}, 2);
}

Tensor Tensor::to(DType type) const {
  if (dtype() == type) return *this;
  return apply<1>(type == DType::f32 ? Op::to_f32 : Op::to_i32, type, {*this}, 0);
}

}  // namespace forebay
