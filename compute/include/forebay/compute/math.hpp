// The elementwise functions beside those of tensor.hpp. All are lazy, broadcast, and promote types
// by PyTorch's rules; docs/tensors.md has their accuracy in every type.
#pragma once

#include "forebay/compute/tensor.hpp"

namespace forebay {

// Functions of reals; integers and booleans become f32. NaN gives NaN.
[[nodiscard]] Tensor exp2(Tensor a);
[[nodiscard]] Tensor expm1(Tensor a);  ///< e^a - 1, exact near 0
[[nodiscard]] Tensor log2(Tensor a);
[[nodiscard]] Tensor log10(Tensor a);
[[nodiscard]] Tensor log1p(Tensor a);  ///< log(1 + a), exact near 0
[[nodiscard]] Tensor rsqrt(Tensor a);  ///< 1 / sqrt(a)
[[nodiscard]] Tensor sin(Tensor a);
[[nodiscard]] Tensor cos(Tensor a);
[[nodiscard]] Tensor tan(Tensor a);
[[nodiscard]] Tensor asin(Tensor a);
[[nodiscard]] Tensor acos(Tensor a);
[[nodiscard]] Tensor atan(Tensor a);
[[nodiscard]] Tensor atan2(Tensor y, Tensor x);  ///< the angle of the point (x, y)
[[nodiscard]] Tensor sinh(Tensor a);
[[nodiscard]] Tensor cosh(Tensor a);
[[nodiscard]] Tensor tanh(Tensor a);
[[nodiscard]] Tensor erf(Tensor a);
[[nodiscard]] Tensor gelu(Tensor a);      ///< a Phi(a), by the error function
[[nodiscard]] Tensor silu(Tensor a);      ///< a sigmoid(a)
[[nodiscard]] Tensor softplus(Tensor a);  ///< log(1 + e^a)
[[nodiscard]] Tensor sigmoid(Tensor a);   ///< 1 / (1 + e^-a)

// To whole numbers, in the operand's type; integers are what they are. ShapeError for booleans.
[[nodiscard]] Tensor floor(Tensor a);
[[nodiscard]] Tensor ceil(Tensor a);
[[nodiscard]] Tensor round(Tensor a);  ///< halves to the even neighbour
[[nodiscard]] Tensor trunc(Tensor a);

// Booleans; integers are finite.
[[nodiscard]] Tensor isnan(Tensor a);
[[nodiscard]] Tensor isinf(Tensor a);
[[nodiscard]] Tensor isfinite(Tensor a);

/// a divided by b, rounded down, in the operands' type. An integer over 0 gives 0, the least
/// integer over -1 wraps; a real over 0 gives what `/` gives. ShapeError for booleans.
[[nodiscard]] Tensor floor_divide(Tensor a, Tensor b);
[[nodiscard]] Tensor floor_divide(Tensor a, Scalar b);
[[nodiscard]] Tensor floor_divide(Scalar a, Tensor b);
/// What floor_divide leaves: it has the sign of b. By 0 an integer gives 0, a real NaN.
[[nodiscard]] Tensor remainder(Tensor a, Tensor b);
[[nodiscard]] Tensor remainder(Tensor a, Scalar b);
[[nodiscard]] Tensor remainder(Scalar a, Tensor b);
/// a^b. Integers wrap; with a negative exponent they give 1 / a^-b cut toward zero, and 0 for 0.
[[nodiscard]] Tensor pow(Tensor a, Tensor b);
[[nodiscard]] Tensor pow(Tensor a, Scalar b);
[[nodiscard]] Tensor pow(Scalar a, Tensor b);
/// a b + c, rounded once. ShapeError for booleans.
[[nodiscard]] Tensor fma(Tensor a, Tensor b, Tensor c);
/// min(max(a, low), high). NaN in any of them gives NaN. An integer that the type of integers
/// cannot hold bounds them as the end of the type does. ShapeError for booleans.
[[nodiscard]] Tensor clamp(Tensor a, Tensor low, Tensor high);
[[nodiscard]] Tensor clamp(Tensor a, Scalar low, Scalar high);

// Comparisons in the promoted type give booleans; with NaN all are false but not_equal. Integers
// are compared as they are with an integer that their type cannot hold.
[[nodiscard]] Tensor not_equal(Tensor a, Tensor b);
[[nodiscard]] Tensor not_equal(Tensor a, Scalar b);
[[nodiscard]] Tensor less(Tensor a, Tensor b);
[[nodiscard]] Tensor less(Tensor a, Scalar b);
[[nodiscard]] Tensor less_equal(Tensor a, Tensor b);
[[nodiscard]] Tensor less_equal(Tensor a, Scalar b);
[[nodiscard]] Tensor greater_equal(Tensor a, Tensor b);
[[nodiscard]] Tensor greater_equal(Tensor a, Scalar b);

// Logic: numbers count as true unless they are 0, NaN counts as true. Booleans.
[[nodiscard]] Tensor logical_and(Tensor a, Tensor b);
[[nodiscard]] Tensor logical_or(Tensor a, Tensor b);
[[nodiscard]] Tensor logical_xor(Tensor a, Tensor b);
[[nodiscard]] Tensor logical_not(Tensor a);

// Bit by bit: integers and booleans. ShapeError for reals.
[[nodiscard]] Tensor operator&(Tensor a, Tensor b);
[[nodiscard]] Tensor operator&(Tensor a, Scalar b);
[[nodiscard]] Tensor operator|(Tensor a, Tensor b);
[[nodiscard]] Tensor operator|(Tensor a, Scalar b);
[[nodiscard]] Tensor operator^(Tensor a, Tensor b);
[[nodiscard]] Tensor operator^(Tensor a, Scalar b);
[[nodiscard]] Tensor operator~(Tensor a);

}  // namespace forebay
