// The functions of math.hpp: which operation, in which type.
#include "forebay/compute/math.hpp"

#include "compute/apply.hpp"

namespace forebay {

using compute::apply_1;
using compute::apply_2;
using compute::constant_of;
using compute::Op;
using compute::Promotion;
using compute::within;

#define FOREBAY_REAL(name) \
  Tensor name(Tensor a) { return apply_1(Op::name, std::move(a), true); }
FOREBAY_REAL(exp2)
FOREBAY_REAL(expm1)
FOREBAY_REAL(log2)
FOREBAY_REAL(log10)
FOREBAY_REAL(log1p)
FOREBAY_REAL(rsqrt)
FOREBAY_REAL(sin)
FOREBAY_REAL(cos)
FOREBAY_REAL(tan)
FOREBAY_REAL(asin)
FOREBAY_REAL(acos)
FOREBAY_REAL(atan)
FOREBAY_REAL(sinh)
FOREBAY_REAL(cosh)
FOREBAY_REAL(tanh)
FOREBAY_REAL(erf)
FOREBAY_REAL(gelu)
FOREBAY_REAL(silu)
FOREBAY_REAL(softplus)
FOREBAY_REAL(sigmoid)
#undef FOREBAY_REAL
Tensor atan2(Tensor y, Tensor x) { return apply_2(Op::atan2, std::move(y), std::move(x), true); }

namespace {

// Integers are whole already, and the cast to their own type is a value of its own: who writes over
// the operand changes no result.
Tensor whole(Op op, Tensor a) {
  const DType type = a.dtype();
  const bool integer = category_of(type) == Category::integer;
  return apply_1(integer ? compute::cast_to(type) : op, std::move(a));
}

}  // namespace

Tensor floor(Tensor a) { return whole(Op::floor, std::move(a)); }
Tensor ceil(Tensor a) { return whole(Op::ceil, std::move(a)); }
Tensor round(Tensor a) { return whole(Op::round, std::move(a)); }
Tensor trunc(Tensor a) { return whole(Op::trunc, std::move(a)); }

#define FOREBAY_TEST(name, of_integers)                \
  Tensor name(Tensor a) {                              \
    if (category_of(a.dtype()) != Category::real) {    \
      return full(a.shape(), of_integers, a.device()); \
    }                                                  \
    return apply_1(Op::name, std::move(a));            \
  }
FOREBAY_TEST(isnan, false)
FOREBAY_TEST(isinf, false)
FOREBAY_TEST(isfinite, true)
#undef FOREBAY_TEST

#define FOREBAY_BINARY(name, op)                                                      \
  Tensor name(Tensor a, Tensor b) { return apply_2(op, std::move(a), std::move(b)); } \
  Tensor name(Tensor a, Scalar b) { return apply_2(op, std::move(a), b); }
FOREBAY_BINARY(floor_divide, Op::floor_div)
FOREBAY_BINARY(remainder, Op::remainder)
FOREBAY_BINARY(pow, Op::pow)
FOREBAY_BINARY(not_equal, Op::not_equal)
FOREBAY_BINARY(less, Op::less)
FOREBAY_BINARY(less_equal, Op::less_equal)
FOREBAY_BINARY(greater_equal, Op::greater_equal)
FOREBAY_BINARY(operator&, Op::bit_and)
FOREBAY_BINARY(operator|, Op::bit_or)
FOREBAY_BINARY(operator^, Op::bit_xor)
#undef FOREBAY_BINARY
Tensor floor_divide(Scalar a, Tensor b) { return apply_2(Op::floor_div, a, std::move(b)); }
Tensor remainder(Scalar a, Tensor b) { return apply_2(Op::remainder, a, std::move(b)); }
Tensor pow(Scalar a, Tensor b) { return apply_2(Op::pow, a, std::move(b)); }
Tensor operator~(Tensor a) { return apply_1(Op::bit_not, std::move(a)); }

namespace {

Tensor ternary(Op op, Tensor a, Tensor b, Tensor c) {
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  promotion.add(c);
  std::array<Tensor, 3> inputs{std::move(a), std::move(b), std::move(c)};
  return compute::apply(op, promotion.result(), inputs);
}

}  // namespace

Tensor fma(Tensor a, Tensor b, Tensor c) {
  return ternary(Op::fma, std::move(a), std::move(b), std::move(c));
}
Tensor clamp(Tensor a, Tensor low, Tensor high) {
  return ternary(Op::clamp, std::move(a), std::move(low), std::move(high));
}
Tensor clamp(Tensor a, Scalar low, Scalar high) {
  Promotion promotion;
  promotion.add(a);
  promotion.add(low);
  promotion.add(high);
  const DType type = promotion.result();
  compute::Engine& engine = compute::engine_of(a);
  std::array<Tensor, 3> inputs{Tensor(), constant_of(within(low, type), type, engine),
                               constant_of(within(high, type), type, engine)};
  inputs[0] = std::move(a);
  return compute::apply(Op::clamp, type, inputs);
}

Tensor logical_and(Tensor a, Tensor b) { return a.to(DType::boolean) & b.to(DType::boolean); }
Tensor logical_or(Tensor a, Tensor b) { return a.to(DType::boolean) | b.to(DType::boolean); }
Tensor logical_xor(Tensor a, Tensor b) { return a.to(DType::boolean) ^ b.to(DType::boolean); }
Tensor logical_not(Tensor a) { return ~a.to(DType::boolean); }

}  // namespace forebay
