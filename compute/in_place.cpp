// Each function in place is the function, a cast, and an assignment.
#include "forebay/compute/in_place.hpp"

#include <string>
#include <utility>

#include "compute/strides.hpp"
#include "compute/tensor_access.hpp"

namespace forebay {

using compute::assign_as;

namespace {

// The target's own type is kept only where its category holds the result.
void write(const char* what, const Tensor& target, Tensor result) {
  if (category_of(result.dtype()) > category_of(target.dtype())) {
    throw ShapeError(std::string(what) + ": a result of " + std::string(to_string(result.dtype())) +
                     " does not fit into " + std::string(to_string(target.dtype())) + " " +
                     to_string(target.shape()));
  }
  // Nobody else holds the result in its own type, so it is never stored in that.
  result = result.to(target.dtype());
  assign_as(what, target, std::move(result));
}

}  // namespace

#define FOREBAY_BINARY(name, function)                      \
  void name(const Tensor& target, const Tensor& value) {    \
    write(#name, target, function(target.detach(), value)); \
  }
#define FOREBAY_WITH_SCALAR(name, function)                 \
  FOREBAY_BINARY(name, function)                            \
  void name(const Tensor& target, Scalar value) {           \
    write(#name, target, function(target.detach(), value)); \
  }
FOREBAY_WITH_SCALAR(add_, operator+)
FOREBAY_WITH_SCALAR(sub_, operator-)
FOREBAY_WITH_SCALAR(mul_, operator*)
FOREBAY_WITH_SCALAR(div_, operator/)
FOREBAY_WITH_SCALAR(floor_divide_, floor_divide)
FOREBAY_WITH_SCALAR(remainder_, remainder)
FOREBAY_WITH_SCALAR(pow_, pow)
FOREBAY_WITH_SCALAR(minimum_, minimum)
FOREBAY_WITH_SCALAR(maximum_, maximum)
FOREBAY_WITH_SCALAR(bitwise_and_, operator&)
FOREBAY_WITH_SCALAR(bitwise_or_, operator|)
FOREBAY_WITH_SCALAR(bitwise_xor_, operator^)
FOREBAY_WITH_SCALAR(equal_, equal)
FOREBAY_WITH_SCALAR(not_equal_, not_equal)
FOREBAY_WITH_SCALAR(less_, less)
FOREBAY_WITH_SCALAR(less_equal_, less_equal)
FOREBAY_WITH_SCALAR(greater_, greater)
FOREBAY_WITH_SCALAR(greater_equal_, greater_equal)
FOREBAY_BINARY(atan2_, atan2)
FOREBAY_BINARY(logical_and_, logical_and)
FOREBAY_BINARY(logical_or_, logical_or)
FOREBAY_BINARY(logical_xor_, logical_xor)
#undef FOREBAY_WITH_SCALAR
#undef FOREBAY_BINARY

#define FOREBAY_UNARY(name, function) \
  void name(const Tensor& target) { write(#name, target, function(target.detach())); }
FOREBAY_UNARY(neg_, operator-)
FOREBAY_UNARY(abs_, abs)
FOREBAY_UNARY(sign_, sign)
FOREBAY_UNARY(relu_, relu)
FOREBAY_UNARY(floor_, floor)
FOREBAY_UNARY(ceil_, ceil)
FOREBAY_UNARY(round_, round)
FOREBAY_UNARY(trunc_, trunc)
FOREBAY_UNARY(exp_, exp)
FOREBAY_UNARY(exp2_, exp2)
FOREBAY_UNARY(expm1_, expm1)
FOREBAY_UNARY(log_, log)
FOREBAY_UNARY(log2_, log2)
FOREBAY_UNARY(log10_, log10)
FOREBAY_UNARY(log1p_, log1p)
FOREBAY_UNARY(sqrt_, sqrt)
FOREBAY_UNARY(rsqrt_, rsqrt)
FOREBAY_UNARY(sin_, sin)
FOREBAY_UNARY(cos_, cos)
FOREBAY_UNARY(tan_, tan)
FOREBAY_UNARY(asin_, asin)
FOREBAY_UNARY(acos_, acos)
FOREBAY_UNARY(atan_, atan)
FOREBAY_UNARY(sinh_, sinh)
FOREBAY_UNARY(cosh_, cosh)
FOREBAY_UNARY(tanh_, tanh)
FOREBAY_UNARY(erf_, erf)
FOREBAY_UNARY(gelu_, gelu)
FOREBAY_UNARY(silu_, silu)
FOREBAY_UNARY(softplus_, softplus)
FOREBAY_UNARY(sigmoid_, sigmoid)
FOREBAY_UNARY(logical_not_, logical_not)
FOREBAY_UNARY(bitwise_not_, operator~)
#undef FOREBAY_UNARY

void fma_(const Tensor& target, const Tensor& b, const Tensor& c) {
  write("fma_", target, fma(target.detach(), b, c));
}
void clamp_(const Tensor& target, Scalar low, Scalar high) {
  write("clamp_", target, clamp(target.detach(), low, high));
}
void clamp_(const Tensor& target, const Tensor& low, const Tensor& high) {
  write("clamp_", target, clamp(target.detach(), low, high));
}

void fill_(const Tensor& target, Scalar value) {
  assign_as("fill_", target, full(target.shape(), value, target.device(), target.dtype()));
}
void masked_fill_(const Tensor& target, const Tensor& mask, Scalar value) {
  compute::require_broadcast("masked_fill_: a mask", mask.shape(), target.shape());
  Tensor number = full({}, value, target.device(), target.dtype());
  assign_as("masked_fill_", target, where(mask, std::move(number), target.detach()));
}
void copy_(const Tensor& target, const Tensor& value) {
  compute::require_broadcast("copy_: a value", value.shape(), target.shape());
  assign_as("copy_", target, value.broadcast_to(target.shape()).to(target.dtype()));
}
void uniform_(const Tensor& target, std::uint64_t key) {
  assign_as("uniform_", target,
            random_uniform(target.shape(), key, target.device(), target.dtype()));
}
void normal_(const Tensor& target, std::uint64_t key) {
  assign_as("normal_", target, random_normal(target.shape(), key, target.device(), target.dtype()));
}

}  // namespace forebay
