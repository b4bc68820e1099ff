#include "compute/host/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/loops_cast.cpp"
#include "compute/host/loops.inl"

FOREBAY_TARGETS_BEGIN

#include "compute/prelude.inl"

// X for each pair of types that blocks can have.
#define FOREBAY_CAST(A, from, R, to) FOREBAY_MAP(from##_to_##to, fb_to_##to(a[i]), A, R)
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

FOREBAY_MAP(random_uniform, fb_random_uniform(a[i], b[i], index + i), int, float)
FOREBAY_MAP(random_normal, fb_random_normal(a[i], b[i], index + i), int, float)
FOREBAY_MAP(random_uniform_f64, fb_random_uniform_f64(a[i], b[i], index + i), int, double)
FOREBAY_MAP(random_normal_f64, fb_random_normal_f64(a[i], b[i], index + i), int, double)

constexpr Loop kLoops[] = {
    FOREBAY_CASTS(FOREBAY_CAST_ROW)  //
    {Op::random_uniform, DType::i32, DType::f32, random_uniform},
    {Op::random_normal, DType::i32, DType::f32, random_normal},
    {Op::random_uniform_f64, DType::i32, DType::f64, random_uniform_f64},
    {Op::random_normal_f64, DType::i32, DType::f64, random_normal_f64},
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// These sets have instructions for f16; the prelude's functions take what is left over.
namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<float> kFloats;
constexpr hn::Rebind<hwy::float16_t, decltype(kFloats)> kHalves;

[[gnu::always_inline]] inline auto to_halves(hn::Vec<decltype(kFloats)> x) {
  const auto nan =
      hn::BitCast(kFloats, hn::Set(hn::RebindToUnsigned<decltype(kFloats)>(), 0x7fffe000));
  return hn::DemoteTo(kHalves, hn::IfThenElse(hn::IsNaN(x), nan, x));
}

#define FOREBAY_HALVES(name, call, rest, T, R)                                              \
  void name(const void* pa, const void* /*b*/, const void* /*c*/, void* out, std::size_t n, \
            std::uint64_t /*index*/) {                                                      \
    const T* const a = static_cast<const T*>(pa);                                           \
    R* const r = static_cast<R*>(out);                                                      \
    const std::size_t width = hn::Lanes(kFloats);                                           \
    std::size_t i = 0;                                                                      \
    for (; i + width <= n; i += width) call;                                                \
    for (; i < n; ++i) r[i] = rest;                                                         \
  }
FOREBAY_HALVES(round_f16,
               hn::StoreU(hn::PromoteTo(kFloats, to_halves(hn::LoadU(kFloats, a + i))), kFloats,
                          r + i),
               fb_to_f32(fb_round_f16(a[i])), float, float)
FOREBAY_HALVES(widen_f16,
               hn::StoreU(hn::PromoteTo(kFloats,
                                        hn::LoadU(kHalves,
                                                  reinterpret_cast<const hwy::float16_t*>(a + i))),
                          kFloats, r + i),
               fb_to_f32(a[i]), FbHalf, float)
FOREBAY_HALVES(narrow_f16,
               hn::StoreU(to_halves(hn::LoadU(kFloats, a + i)), kHalves,
                          reinterpret_cast<hwy::float16_t*>(r + i)),
               fb_round_f16(a[i]), float, FbHalf)
#else
FOREBAY_MAP(round_f16, fb_to_f32(fb_round_f16(a[i])), float, float)
FOREBAY_MAP(widen_f16, fb_to_f32(a[i]), FbHalf, float)
FOREBAY_MAP(narrow_f16, fb_round_f16(a[i]), float, FbHalf)
#endif
FOREBAY_MAP(round_bf16, fb_to_f32(fb_round_bf16(a[i])), float, float)
FOREBAY_MAP(widen_bf16, fb_to_f32(a[i]), FbBfloat, float)
FOREBAY_MAP(narrow_bf16, fb_round_bf16(a[i]), float, FbBfloat)
FOREBAY_MAP(odd_f64, fb_odd_f32(a[i]), double, float)
FOREBAY_MAP(odd_i64, fb_odd_f32(a[i]), long long, float)
FOREBAY_MAP(odd_i32, fb_odd_f32(a[i]), int, float)

std::span<const Loop> loops() { return kLoops; }
Kernel rounding(DType narrow) { return narrow == DType::f16 ? round_f16 : round_bf16; }
Kernel widening(DType narrow) { return narrow == DType::f16 ? widen_f16 : widen_bf16; }
Kernel narrowing(DType narrow) { return narrow == DType::f16 ? narrow_f16 : narrow_bf16; }
Kernel odd(DType type) {
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

FOREBAY_TARGETS_END

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(loops);
HWY_EXPORT(rounding);
HWY_EXPORT(widening);
HWY_EXPORT(narrowing);
HWY_EXPORT(odd);
std::span<const Loop> loops_cast() noexcept { return HWY_DYNAMIC_DISPATCH(loops)(); }
Kernel rounding_kernel(DType narrow) noexcept { return HWY_DYNAMIC_DISPATCH(rounding)(narrow); }
Kernel widening_kernel(DType narrow) noexcept { return HWY_DYNAMIC_DISPATCH(widening)(narrow); }
Kernel narrowing_kernel(DType narrow) noexcept { return HWY_DYNAMIC_DISPATCH(narrowing)(narrow); }
Kernel odd_kernel(DType type) noexcept { return HWY_DYNAMIC_DISPATCH(odd)(type); }
}  // namespace forebay::compute::host
#endif
