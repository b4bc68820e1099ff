// Operators and the elementwise functions of tensor.hpp.
#include "compute/apply.hpp"

namespace forebay {

using compute::apply_1;
using compute::apply_2;
using compute::Op;

#define FOREBAY_OPERATOR(symbol, op, real)                                                  \
  Tensor operator symbol(Tensor a, Tensor b) {                                              \
    return apply_2(op, std::move(a), std::move(b), real);                                   \
  }                                                                                         \
  Tensor operator symbol(Tensor a, Scalar b) { return apply_2(op, std::move(a), b, real); } \
  Tensor operator symbol(Scalar a, Tensor b) { return apply_2(op, a, std::move(b), real); }
FOREBAY_OPERATOR(+, Op::add, false)
FOREBAY_OPERATOR(-, Op::sub, false)
FOREBAY_OPERATOR(*, Op::mul, false)
FOREBAY_OPERATOR(/, Op::div, true)
#undef FOREBAY_OPERATOR

#define FOREBAY_BINARY(name, op)                                                      \
  Tensor name(Tensor a, Tensor b) { return apply_2(op, std::move(a), std::move(b)); } \
  Tensor name(Tensor a, Scalar b) { return apply_2(op, std::move(a), b); }
FOREBAY_BINARY(minimum, Op::min)
FOREBAY_BINARY(maximum, Op::max)
FOREBAY_BINARY(equal, Op::equal)
FOREBAY_BINARY(greater, Op::greater)
#undef FOREBAY_BINARY

Tensor operator-(Tensor a) { return apply_1(Op::neg, std::move(a)); }
Tensor abs(Tensor a) { return apply_1(Op::abs, std::move(a)); }
Tensor sign(Tensor a) { return apply_1(Op::sign, std::move(a)); }
Tensor relu(Tensor a) { return apply_1(Op::relu, std::move(a)); }
Tensor exp(Tensor a) { return apply_1(Op::exp, std::move(a), true); }
Tensor log(Tensor a) { return apply_1(Op::log, std::move(a), true); }
Tensor sqrt(Tensor a) { return apply_1(Op::sqrt, std::move(a), true); }

Tensor where(Tensor condition, Tensor a, Tensor b) {
  compute::Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  std::array<Tensor, 3> inputs{std::move(condition), std::move(a), std::move(b)};
  return compute::apply(Op::select, promotion.result(), inputs);
}

Tensor where(Tensor condition, Tensor a, Scalar b) {
  compute::Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  const DType type = promotion.result();
  Tensor number = compute::constant_of(b, type, compute::engine_of(a));
  std::array<Tensor, 3> inputs{std::move(condition), std::move(a), std::move(number)};
  return compute::apply(Op::select, type, inputs);
}

Tensor where(Tensor condition, Scalar a, Tensor b) {
  compute::Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  const DType type = promotion.result();
  Tensor number = compute::constant_of(a, type, compute::engine_of(b));
  std::array<Tensor, 3> inputs{std::move(condition), std::move(number), std::move(b)};
  return compute::apply(Op::select, type, inputs);
}

Tensor Tensor::to(DType type) const {
  if (dtype() == compute::checked_type(type)) return *this;
  Tensor input = *this;
  return compute::apply(compute::cast_to(type), dtype(), {&input, 1});
}

}  // namespace forebay
