// The elementwise functions that write their result over their first operand, named as the others
// with an underscore behind.
#pragma once

#include "forebay/compute/math.hpp"

namespace forebay {

// Each is `assign(target, function(target, …))`, by the rules of `assign`: the result is cast
// to the target's type, whose category must not be lower (ShapeError), and has its shape; other
// operands broadcast to it. No gradient is recorded. One launch, and one more to write through a
// view with strides of its own.
void add_(const Tensor& target, const Tensor& value);
void add_(const Tensor& target, Scalar value);
void sub_(const Tensor& target, const Tensor& value);
void sub_(const Tensor& target, Scalar value);
void mul_(const Tensor& target, const Tensor& value);
void mul_(const Tensor& target, Scalar value);
void div_(const Tensor& target, const Tensor& value);
void div_(const Tensor& target, Scalar value);
void floor_divide_(const Tensor& target, const Tensor& value);
void floor_divide_(const Tensor& target, Scalar value);
void remainder_(const Tensor& target, const Tensor& value);
void remainder_(const Tensor& target, Scalar value);
void pow_(const Tensor& target, const Tensor& exponent);
void pow_(const Tensor& target, Scalar exponent);
void minimum_(const Tensor& target, const Tensor& value);
void minimum_(const Tensor& target, Scalar value);
void maximum_(const Tensor& target, const Tensor& value);
void maximum_(const Tensor& target, Scalar value);
void atan2_(const Tensor& target, const Tensor& x);
/// target · b + c, rounded once.
void fma_(const Tensor& target, const Tensor& b, const Tensor& c);
void clamp_(const Tensor& target, Scalar low, Scalar high);
void clamp_(const Tensor& target, const Tensor& low, const Tensor& high);

void neg_(const Tensor& target);
void abs_(const Tensor& target);
void sign_(const Tensor& target);
void relu_(const Tensor& target);
void floor_(const Tensor& target);
void ceil_(const Tensor& target);
void round_(const Tensor& target);
void trunc_(const Tensor& target);

void exp_(const Tensor& target);
void exp2_(const Tensor& target);
void expm1_(const Tensor& target);
void log_(const Tensor& target);
void log2_(const Tensor& target);
void log10_(const Tensor& target);
void log1p_(const Tensor& target);
void sqrt_(const Tensor& target);
void rsqrt_(const Tensor& target);
void sin_(const Tensor& target);
void cos_(const Tensor& target);
void tan_(const Tensor& target);
void asin_(const Tensor& target);
void acos_(const Tensor& target);
void atan_(const Tensor& target);
void sinh_(const Tensor& target);
void cosh_(const Tensor& target);
void tanh_(const Tensor& target);
void erf_(const Tensor& target);
void gelu_(const Tensor& target);
void silu_(const Tensor& target);
void softplus_(const Tensor& target);
void sigmoid_(const Tensor& target);

// Comparisons and logic; in a target of numbers, true is 1.
void equal_(const Tensor& target, const Tensor& value);
void equal_(const Tensor& target, Scalar value);
void not_equal_(const Tensor& target, const Tensor& value);
void not_equal_(const Tensor& target, Scalar value);
void less_(const Tensor& target, const Tensor& value);
void less_(const Tensor& target, Scalar value);
void less_equal_(const Tensor& target, const Tensor& value);
void less_equal_(const Tensor& target, Scalar value);
void greater_(const Tensor& target, const Tensor& value);
void greater_(const Tensor& target, Scalar value);
void greater_equal_(const Tensor& target, const Tensor& value);
void greater_equal_(const Tensor& target, Scalar value);
void logical_and_(const Tensor& target, const Tensor& value);
void logical_or_(const Tensor& target, const Tensor& value);
void logical_xor_(const Tensor& target, const Tensor& value);
void logical_not_(const Tensor& target);
void bitwise_and_(const Tensor& target, const Tensor& value);
void bitwise_and_(const Tensor& target, Scalar value);
void bitwise_or_(const Tensor& target, const Tensor& value);
void bitwise_or_(const Tensor& target, Scalar value);
void bitwise_xor_(const Tensor& target, const Tensor& value);
void bitwise_xor_(const Tensor& target, Scalar value);
void bitwise_not_(const Tensor& target);

// Values for the target are cast to its type whatever theirs is, as `to` does.
void fill_(const Tensor& target, Scalar value);
/// `value` where `mask` is not 0.
void masked_fill_(const Tensor& target, const Tensor& mask, Scalar value);
/// The elements of `value`, broadcast.
void copy_(const Tensor& target, const Tensor& value);
/// The numbers of `random_uniform` and `random_normal` with `key`. ShapeError unless real.
void uniform_(const Tensor& target, std::uint64_t key);
void normal_(const Tensor& target, std::uint64_t key);

}  // namespace forebay
