#include "compute/apply.hpp"

#include <bit>

#include "compute/fold.hpp"

namespace forebay::compute {
namespace {

// As who calls it writes it, for messages.
const char* called(Op op) {
  switch (op) {
    case Op::min:
      return "minimum";
    case Op::max:
      return "maximum";
    case Op::floor_div:
      return "floor_divide";
    case Op::bit_not:
      return "operator~";
    case Op::bit_and:
      return "operator&";
    case Op::bit_or:
      return "operator|";
    case Op::bit_xor:
      return "operator^";
    case Op::select:
      return "where";
    default:
      return to_string(op);
  }
}

// "bool [2, 3] and f32 []", for messages.
std::string describe(std::span<const Tensor> inputs) {
  std::string text;
  for (const Tensor& input : inputs) {
    if (!text.empty()) text += " and ";
    text += std::string(to_string(input.dtype())) + " " + to_string(input.shape());
  }
  return text;
}

void require_type(Op op, DType type, std::span<const Tensor> inputs) {
  if (has_type(op, type)) return;
  throw ShapeError(std::string(called(op)) + " has no form for " + std::string(to_string(type)) +
                   ": " + describe(inputs));
}

Dims common_shape(Op op, std::span<const Tensor> inputs) {
  Device& device = inputs[0].device();
  Dims shape = inputs[0].shape();
  for (const Tensor& input : inputs.subspan(1)) {
    if (&input.device() != &device) {
      throw ShapeError(std::string(called(op)) + ": one tensor is on " + device.id() +
                       ", another on " + input.device().id_beside(device));
    }
    try {
      shape = broadcast_shapes(shape, input.shape());
    } catch (const ShapeError&) {
      // Of three operands it would name a shape that nobody gave.
      throw ShapeError(std::string(called(op)) + ": shapes do not broadcast: " + describe(inputs));
    }
  }
  return shape;
}

void cast(Engine& engine, NodeRef& node, DType type) {
  if (node->type == type) return;
  const Dims shape = node->shape;
  node = engine.operation(cast_to(type), type, shape, {&node, 1});
}

DType at_least_real(DType type, bool real) {
  return real && category_of(type) != Category::real ? kDefaultReal : type;
}

// An operation on a tensor and a number: in which type, and which number.
struct Beside {
  DType type;
  Scalar number;
};

Beside beside(Op op, const Tensor& tensor, Scalar number, bool real) {
  Promotion promotion;
  promotion.add(tensor);
  promotion.add(number);
  const DType type = at_least_real(promotion.result(), real);
  // What a comparison or the lesser of two is does not wrap.
  if (kind_of(op) == OpKind::compare && !holds(type, number)) return {DType::i64, number};
  if (op == Op::min || op == Op::max) return {type, within(number, type)};
  return {type, number};
}

}  // namespace

bool holds(DType type, Scalar number) {
  if (number.type() != DType::i64 || category_of(type) != Category::integer) return true;
  const std::uint64_t cast = fold_cast({DType::i64, number.bits()}, type);
  return fold_cast({type, cast}, DType::i64) == number.bits();
}

Scalar within(Scalar number, DType type) {
  if (holds(type, number)) return number;
  // Reals saturate when they are cast.
  return static_cast<double>(static_cast<std::int64_t>(number.bits()));
}

Tensor constant_of(Scalar number, DType type, Engine& engine) {
  // The usual case needs no loop.
  const bool plain = number.type() == DType::f64 && type == DType::f32;
  const std::uint64_t bits =
      plain ? std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(number.bits())))
            : fold_cast({number.type(), number.bits()}, type);
  return Tensor(engine.scalar(type, bits));
}

Tensor apply(Op op, DType type, std::span<Tensor> inputs) {
  Engine& engine = engine_of(inputs[0]);
  require_type(op, type, inputs);
  const Dims shape = common_shape(op, inputs);
  const OpKind kind = kind_of(op);
  bool recorded = false;
  for (const Tensor& input : inputs) recorded = recorded || input.autograd() != nullptr;
  std::array<NodeRef, 3> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // A node that only the expression holds is neither stored nor kept alive.
    operands[i] = recorded ? inputs[i].node() : std::move(inputs[i]).node();
    if (kind == OpKind::choose && i == 0) {
      cast(engine, operands[i], DType::boolean);
    } else if (kind != OpKind::cast) {
      cast(engine, operands[i], type);
    }
  }
  Tensor output(
      engine.operation(op, result_type(op, type), shape, std::span(operands).first(inputs.size())));
  if (recorded) {
    record({.action = Action::elementwise, .op = op, .inputs = inputs, .output = output}, output);
  }
  return output;
}

Tensor apply_1(Op op, Tensor a, bool real) {
  const DType type = at_least_real(node_of(a)->type, real);
  return apply(op, type, {&a, 1});
}

Tensor apply_2(Op op, Tensor a, Tensor b, bool real) {
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  std::array<Tensor, 2> inputs{std::move(a), std::move(b)};
  return apply(op, at_least_real(promotion.result(), real), inputs);
}

Tensor apply_2(Op op, Tensor a, Scalar b, bool real) {
  const Beside with = beside(op, a, b, real);
  Engine& engine = engine_of(a);
  // Once for both nodes, but not while autograd's hook is called.
  std::unique_lock lock(engine.mutex(), std::defer_lock);
  if (a.autograd() == nullptr) lock.lock();
  Tensor number = constant_of(with.number, with.type, engine);
  std::array<Tensor, 2> inputs{std::move(a), std::move(number)};
  return apply(op, with.type, inputs);
}

Tensor apply_2(Op op, Scalar a, Tensor b, bool real) {
  const Beside with = beside(op, b, a, real);
  Engine& engine = engine_of(b);
  std::unique_lock lock(engine.mutex(), std::defer_lock);
  if (b.autograd() == nullptr) lock.lock();
  Tensor number = constant_of(with.number, with.type, engine);
  std::array<Tensor, 2> inputs{std::move(number), std::move(b)};
  return apply(op, with.type, inputs);
}

}  // namespace forebay::compute
