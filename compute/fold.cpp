#include "compute/fold.hpp"

#include <bit>

namespace forebay::compute {
namespace {

#include "compute/prelude.inl"

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t bits_of(int value) { return static_cast<std::uint32_t>(value); }

template <typename T>
T as(const ConstantValue& operand) {
  return std::bit_cast<T>(operand.bits);
}

// Calls `function` with the operand as what it is, a float or an int.
template <typename Function>
auto with(const ConstantValue& operand, Function&& function) {
  return operand.type == DType::f32 ? function(as<float>(operand)) : function(as<int>(operand));
}

}  // namespace

std::optional<std::uint32_t> fold(Op op, std::span<const ConstantValue> operands) {
#define FOREBAY_UNARY(name) \
  case Op::name:            \
    return with(operands[0], [](auto a) { return bits_of(fb_##name(a)); });
#define FOREBAY_FLOAT(name) \
  case Op::name:            \
    return bits_of(fb_##name(as<float>(operands[0])));
#define FOREBAY_BINARY(name)                                                        \
  case Op::name:                                                                    \
    return operands[0].type == DType::f32                                           \
               ? bits_of(fb_##name(as<float>(operands[0]), as<float>(operands[1]))) \
               : bits_of(fb_##name(as<int>(operands[0]), as<int>(operands[1])));
  switch (op) {
    FOREBAY_UNARY(neg)
    FOREBAY_UNARY(relu)
    FOREBAY_UNARY(to_f32)
    FOREBAY_UNARY(to_i32)
    FOREBAY_FLOAT(exp)
    FOREBAY_FLOAT(log)
    FOREBAY_FLOAT(sqrt)
    FOREBAY_BINARY(add)
    FOREBAY_BINARY(sub)
    FOREBAY_BINARY(mul)
    FOREBAY_BINARY(min)
    FOREBAY_BINARY(max)
    FOREBAY_BINARY(greater)
    FOREBAY_BINARY(equal)
    case Op::div:
      return bits_of(fb_div(as<float>(operands[0]), as<float>(operands[1])));
    case Op::select: {
      const bool chosen = with(operands[0], [](auto a) { return a != 0; });
      return operands[chosen ? 1 : 2].bits;
    }
    case Op::random_uniform:
    case Op::random_normal:
      break;
  }
  return std::nullopt;
#undef FOREBAY_UNARY
#undef FOREBAY_FLOAT
#undef FOREBAY_BINARY
}

}  // namespace forebay::compute
