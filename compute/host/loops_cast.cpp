#include "compute/host/kernels.hpp"
#include "compute/host/loops.inl"

namespace forebay::compute::host {
namespace {

#include "compute/prelude.inl"

// X for each pair of types that blocks can have.
#define FOREBAY_CAST(A, from, R, to) FOREBAY_LOOP(from##_to_##to, fb_to_##to(a[i]), A, A, A, R)
#define FOREBAY_CAST_ROW(A, from, R, to) {Op::to_##to, DType::from, DType::to, from##_to_##to},
#define FOREBAY_FROM(X, A, from) \
  X(A, from, double, f64)        \
  X(A, from, float, f32)         \
  X(A, from, long long, i64)     \
  X(A, from, int, i32)           \
  X(A, from, unsigned char, u8)  \
  X(A, from, bool, boolean)
#define FOREBAY_CASTS(X)             \
  FOREBAY_FROM(X, double, f64)       \
  FOREBAY_FROM(X, float, f32)        \
  FOREBAY_FROM(X, long long, i64)    \
  FOREBAY_FROM(X, int, i32)          \
  FOREBAY_FROM(X, unsigned char, u8) \
  FOREBAY_FROM(X, bool, boolean)
FOREBAY_CASTS(FOREBAY_CAST)

FOREBAY_LOOP(random_uniform, fb_random_uniform(a[i], b[i], index + i), int, int, int, float)
FOREBAY_LOOP(random_normal, fb_random_normal(a[i], b[i], index + i), int, int, int, float)
FOREBAY_LOOP(random_uniform_f64, fb_random_uniform_f64(a[i], b[i], index + i), int, int, int,
             double)
FOREBAY_LOOP(random_normal_f64, fb_random_normal_f64(a[i], b[i], index + i), int, int, int, double)

constexpr Loop kLoops[] = {
    FOREBAY_CASTS(FOREBAY_CAST_ROW)  //
    {Op::random_uniform, DType::i32, DType::f32, random_uniform},
    {Op::random_normal, DType::i32, DType::f32, random_normal},
    {Op::random_uniform_f64, DType::i32, DType::f64, random_uniform_f64},
    {Op::random_normal_f64, DType::i32, DType::f64, random_normal_f64},
};

FOREBAY_LOOP(round_f16, fb_to_f32(fb_round_f16(a[i])), float, float, float, float)
FOREBAY_LOOP(round_bf16, fb_to_f32(fb_round_bf16(a[i])), float, float, float, float)
FOREBAY_LOOP(widen_f16, fb_to_f32(a[i]), FbHalf, FbHalf, FbHalf, float)
FOREBAY_LOOP(widen_bf16, fb_to_f32(a[i]), FbBfloat, FbBfloat, FbBfloat, float)
FOREBAY_LOOP(narrow_f16, fb_round_f16(a[i]), float, float, float, FbHalf)
FOREBAY_LOOP(narrow_bf16, fb_round_bf16(a[i]), float, float, float, FbBfloat)
FOREBAY_LOOP(odd_f64, fb_odd_f32(a[i]), double, double, double, float)
FOREBAY_LOOP(odd_i64, fb_odd_f32(a[i]), long long, long long, long long, float)
FOREBAY_LOOP(odd_i32, fb_odd_f32(a[i]), int, int, int, float)

}  // namespace

std::span<const Loop> loops_cast() noexcept { return kLoops; }

Kernel rounding_kernel(DType narrow) noexcept {
  return narrow == DType::f16 ? round_f16 : round_bf16;
}
Kernel widening_kernel(DType narrow) noexcept {
  return narrow == DType::f16 ? widen_f16 : widen_bf16;
}
Kernel narrowing_kernel(DType narrow) noexcept {
  return narrow == DType::f16 ? narrow_f16 : narrow_bf16;
}
Kernel odd_kernel(DType type) noexcept {
  switch (type) {
    case DType::f64:
      return odd_f64;
    case DType::i64:
      return odd_i64;
    case DType::i32:
      return odd_i32;
    case DType::u8:
      return u8_to_f32;
    case DType::boolean:
      return boolean_to_f32;
    default:
      return f32_to_f32;
  }
}

}  // namespace forebay::compute::host
