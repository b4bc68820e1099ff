// The operations of programs: elementwise ones and reductions, each in one table.
#pragma once

#include <cstdint>

#include "forebay/compute/dtype.hpp"

namespace forebay::compute {

/// Elementwise operations: X(name, operands, kind). Each is the function fb_<name> of the prelude
/// (compute/prelude/), overloaded by type; f16 and bf16 are computed in f32 and rounded after each
/// operation. Kinds say which types an operation has; operands are of one type, which the front end
/// has made equal by casts, and the result is of that type unless said otherwise:
///   number_1, number_2, number_3   all but boolean
///   any_2                          all; booleans add by or, multiply by and
///   real_1, real_2                 f64 f32 f16 bf16
///   test                           reals; the result is boolean
///   cast                           from any type to the one in its name
///   compare                        all; the result is boolean
///   bits_1, bits_2                 i64 i32 u8 boolean
///   choose                         boolean, then two of any type, which is the result's
///   draw_32, draw_64               two i32 key words to f32 or f64, counted by the linear index
#define FOREBAY_ELEMENTWISE_OPS(X)                            \
  X(neg, 1, number_1)                                         \
  X(abs, 1, number_1)                                         \
  X(sign, 1, number_1) /* -1, 0 or 1 */                       \
  X(relu, 1, number_1)                                        \
  X(exp, 1, real_1)                                           \
  X(exp2, 1, real_1)                                          \
  X(expm1, 1, real_1)                                         \
  X(log, 1, real_1)                                           \
  X(log2, 1, real_1)                                          \
  X(log10, 1, real_1)                                         \
  X(log1p, 1, real_1)                                         \
  X(sqrt, 1, real_1)                                          \
  X(rsqrt, 1, real_1)                                         \
  X(sin, 1, real_1)                                           \
  X(cos, 1, real_1)                                           \
  X(tan, 1, real_1)                                           \
  X(asin, 1, real_1)                                          \
  X(acos, 1, real_1)                                          \
  X(atan, 1, real_1)                                          \
  X(sinh, 1, real_1)                                          \
  X(cosh, 1, real_1)                                          \
  X(tanh, 1, real_1)                                          \
  X(erf, 1, real_1)                                           \
  X(gelu, 1, real_1)                                          \
  X(silu, 1, real_1)                                          \
  X(softplus, 1, real_1)                                      \
  X(sigmoid, 1, real_1)                                       \
  X(floor, 1, real_1)                                         \
  X(ceil, 1, real_1)                                          \
  X(round, 1, real_1) /* halves to even */                    \
  X(trunc, 1, real_1)                                         \
  X(isnan, 1, test)                                           \
  X(isinf, 1, test)                                           \
  X(isfinite, 1, test)                                        \
  X(to_f64, 1, cast)                                          \
  X(to_f32, 1, cast)                                          \
  X(to_f16, 1, cast)                                          \
  X(to_bf16, 1, cast)                                         \
  X(to_i64, 1, cast)                                          \
  X(to_i32, 1, cast)                                          \
  X(to_u8, 1, cast)                                           \
  X(to_boolean, 1, cast)                                      \
  X(bit_not, 1, bits_1)                                       \
  X(add, 2, any_2)                                            \
  X(mul, 2, any_2)                                            \
  X(min, 2, any_2)                                            \
  X(max, 2, any_2)                                            \
  X(sub, 2, number_2)                                         \
  X(floor_div, 2, number_2)                                   \
  X(remainder, 2, number_2) /* Python's rule, as floor_div */ \
  X(pow, 2, number_2)                                         \
  X(div, 2, real_2)                                           \
  X(atan2, 2, real_2)                                         \
  X(equal, 2, compare)                                        \
  X(not_equal, 2, compare)                                    \
  X(less, 2, compare)                                         \
  X(less_equal, 2, compare)                                   \
  X(greater, 2, compare)                                      \
  X(greater_equal, 2, compare)                                \
  X(bit_and, 2, bits_2)                                       \
  X(bit_or, 2, bits_2)                                        \
  X(bit_xor, 2, bits_2)                                       \
  X(fma, 3, number_3)   /* a b + c, rounded once */           \
  X(clamp, 3, number_3) /* min(max(a, b), c) */               \
  X(select, 3, choose)  /* a ? b : c */                       \
  X(random_uniform, 2, draw_32)                               \
  X(random_normal, 2, draw_32)                                \
  X(random_uniform_f64, 2, draw_64)                           \
  X(random_normal_f64, 2, draw_64)

enum class Op : std::uint8_t {
#define FOREBAY_OP(name, operands, kind) name,
  FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
};
inline constexpr int kOpCount = 0
#define FOREBAY_OP(name, operands, kind) +1
    FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
    ;
inline constexpr Op kLastOp = static_cast<Op>(kOpCount - 1);

enum class OpKind : std::uint8_t {
  number_1,
  number_2,
  number_3,
  any_2,
  real_1,
  real_2,
  test,
  cast,
  compare,
  bits_1,
  bits_2,
  choose,
  draw_32,
  draw_64,
};

[[nodiscard]] const char* to_string(Op op) noexcept;
[[nodiscard]] int operands(Op op) noexcept;
[[nodiscard]] OpKind kind_of(Op op) noexcept;
/// Whether `op` exists for operands of `type`: the second one's for a choice.
[[nodiscard]] bool has_type(Op op, DType type) noexcept;
/// The type of `op`'s result for operands of `type`. REQUIRES: has_type.
[[nodiscard]] DType result_type(Op op, DType type) noexcept;
/// The cast to `type`.
[[nodiscard]] Op cast_to(DType type) noexcept;

/// Reductions: X(name, the operation that joins two parts, what nothing reduces to). mean divides
/// at the end; argmin and argmax carry the index beside the value, and of equal values the lowest
/// index wins, of NaNs the first.
#define FOREBAY_REDUCE_OPS(X) \
  X(sum, add, zero)           \
  X(mean, add, zero)          \
  X(prod, mul, one)           \
  X(min, min, highest)        \
  X(max, max, lowest)         \
  X(argmin, min, highest)     \
  X(argmax, max, lowest)

enum class ReduceOp : std::uint8_t {
#define FOREBAY_REDUCE_OP(name, join, identity) name,
  FOREBAY_REDUCE_OPS(FOREBAY_REDUCE_OP)
#undef FOREBAY_REDUCE_OP
};
enum class Identity : std::uint8_t { zero, one, highest, lowest };

/// How executors reduce values of one type.
struct ReduceRule {
  Op join = Op::add;
  Identity identity = Identity::zero;
  bool indexed = false;     ///< the index within the reduced elements goes along, and is the result
  bool divides = false;     ///< by the number of reduced elements
  DType term = DType::f32;  ///< a value becomes this, and so do the sums of a few of them
  DType total = DType::f32;   ///< everything above
  DType result = DType::f32;  ///< at the end, by the cast
};
/// Sums and products: reals in f64 (sums of f32, f16 and bf16 begin with a few levels in f32),
/// integers and booleans in i64, modulo 2^64, which is their result. Others keep their type.
/// REQUIRES: has_type.
[[nodiscard]] ReduceRule rule_of(ReduceOp op, DType type) noexcept;
/// mean: reals; the others: all types.
[[nodiscard]] bool has_type(ReduceOp op, DType type) noexcept;
[[nodiscard]] const char* to_string(ReduceOp op) noexcept;

}  // namespace forebay::compute
