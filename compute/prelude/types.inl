// The functions behind every operation, one text for all executors: C++ on the host, and pasted in
// front of every generated CUDA kernel. It includes nothing, and contraction is off on both sides,
// so that a function gives the same bits everywhere.
//
// This part: what the host and CUDA spell differently, the types, and conversions between them.
// FB_FN marks a function, FB_FN_RARE one that is seldom called. FB_SQRT, FB_DIV and FB_FMA are the
// correctly rounded operations, and the ones to whole numbers and the remainder are exact; FB_BITS,
// FB_FLOAT, FB_BITS64 and FB_DOUBLE move bit patterns. FB_LOWER and FB_HIGHER are for numbers: of a
// NaN and a number, or of two zeros, they give either. The ending 64 is for f64.
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
#define FB_FN static __device__ __forceinline__
#define FB_FN_MEMBER __device__ __forceinline__
#define FB_FN_RARE static __device__ __noinline__
#define FB_SQRT(x) __fsqrt_rn(x)
#define FB_DIV(a, b) __fdiv_rn(a, b)
#define FB_BITS(x) __float_as_uint(x)
#define FB_FLOAT(x) __uint_as_float(x)
#define FB_SQRT64(x) __dsqrt_rn(x)
#define FB_FMA(a, b, c) __fmaf_rn(a, b, c)
#define FB_FMA64(a, b, c) __fma_rn(a, b, c)
#define FB_LOWER(a, b) fminf(a, b)
#define FB_HIGHER(a, b) fmaxf(a, b)
#define FB_FLOOR(x) floorf(x)
#define FB_FLOOR64(x) floor(x)
#define FB_CEIL(x) ceilf(x)
#define FB_CEIL64(x) ceil(x)
#define FB_TRUNC(x) truncf(x)
#define FB_TRUNC64(x) trunc(x)
#define FB_ROUND(x) rintf(x)
#define FB_ROUND64(x) rint(x)
#define FB_FMOD(a, b) fmodf(a, b)
#define FB_FMOD64(a, b) fmod(a, b)
#define FB_BITS64(x) ((unsigned long long)__double_as_longlong(x))
#define FB_DOUBLE(x) __longlong_as_double((long long)(x))
#if __CUDA_ARCH__ >= 800
// The least and the greatest by one instruction, of a NaN and a number the NaN, with -0 below +0.
FB_FN float fb_device_min(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
FB_FN float fb_device_max(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
#define FB_MIN(a, b) fb_device_min(a, b)
#define FB_MAX(a, b) fb_device_max(a, b)
#endif
// The assembler of CUDA 13.0 makes -max(a, b) of max(-a, -b) for sm_90, where it should be
// -min(a, b): so a negation is spelled in a way that it does not know as one.
FB_FN unsigned fb_negative(unsigned a) {
  unsigned result;
  asm("{\n.reg .b32 t;\nnot.b32 t, %1;\nadd.s32 %0, t, 1;\n}" : "=r"(result) : "r"(a));
  return result;
}
#else
// Always inline: loops over these functions must vectorise.
#define FB_FN [[maybe_unused, gnu::always_inline]] static inline
#define FB_FN_MEMBER
#define FB_FN_RARE [[maybe_unused]] static
#define FB_SQRT(x) __builtin_sqrtf(x)
#define FB_DIV(a, b) ((a) / (b))
#define FB_BITS(x) __builtin_bit_cast(unsigned int, x)
#define FB_FLOAT(x) __builtin_bit_cast(float, x)
#define FB_SQRT64(x) __builtin_sqrt(x)
#define FB_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define FB_FMA64(a, b, c) __builtin_fma(a, b, c)
#define FB_LOWER(a, b) ((a) < (b) ? (a) : (b))
#define FB_HIGHER(a, b) ((a) > (b) ? (a) : (b))
#define FB_FLOOR(x) __builtin_floorf(x)
#define FB_FLOOR64(x) __builtin_floor(x)
#define FB_CEIL(x) __builtin_ceilf(x)
#define FB_CEIL64(x) __builtin_ceil(x)
#define FB_TRUNC(x) __builtin_truncf(x)
#define FB_TRUNC64(x) __builtin_trunc(x)
#define FB_ROUND(x) __builtin_rintf(x)
#define FB_ROUND64(x) __builtin_rint(x)
#define FB_FMOD(a, b) __builtin_fmodf(a, b)
#define FB_FMOD64(a, b) __builtin_fmod(a, b)
#define FB_BITS64(x) __builtin_bit_cast(unsigned long long, x)
#define FB_DOUBLE(x) __builtin_bit_cast(double, x)
FB_FN unsigned fb_negative(unsigned a) { return 0U - a; }
#endif
FB_FN unsigned long long fb_negative(unsigned long long a) { return 0ULL - a; }

// IEEE binary16, and the upper half of a binary32. i64 is long long, i32 int, u8 unsigned char.
struct FbHalf {
  unsigned short bits;
};
struct FbBfloat {
  unsigned short bits;
};

// Neighbours in memory that are accessed together.
template <typename T, int N>
struct FbPack {
  alignas(sizeof(T) * N) T v[N];
};

// f16 to f32, exact: the exponent is rebased, and subnormal numbers are counts of 2^-24.
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
FB_FN float fb_to_f32(FbHalf a) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a.bits));
  return result;
}
#else
FB_FN float fb_to_f32(FbHalf a) {
  const unsigned magnitude = a.bits & 0x7fffU;
  const unsigned sign = (unsigned)(a.bits & 0x8000U) << 16;
  const unsigned normal = (magnitude << 13) + (magnitude >= 0x7c00U ? 0x70000000U : 0x38000000U);
  const unsigned tiny = FB_BITS((float)(int)magnitude * 5.9604644775390625e-8F);
  return FB_FLOAT((magnitude < 0x400U ? tiny : normal) | sign);
}
#endif
FB_FN float fb_to_f32(FbBfloat a) { return FB_FLOAT((unsigned)a.bits << 16); }

// f32 to f16, to the nearest, ties to even. A subnormal result is what is left in the lowest bits
// beside 1/2, whose last place is 2^-24. Any NaN gives the one pattern 0x7fff.
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
FB_FN FbHalf fb_round_f16(float a) {
  FbHalf result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
  return result;
}
#else
FB_FN FbHalf fb_round_f16(float a) {
  const unsigned bits = FB_BITS(a);
  const unsigned magnitude = bits & 0x7fffffffU;
  const unsigned sign = (bits >> 16) & 0x8000U;
  const unsigned tiny = FB_BITS(FB_FLOAT(magnitude) + 0.5F) - 0x3f000000U;
  const unsigned normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const unsigned finite = magnitude < 0x38800000U ? tiny : normal;
  const unsigned large = magnitude > 0x7f800000U ? 0x7fffU : 0x7c00U;
  const unsigned result = magnitude >= 0x477ff000U ? large : finite;
  return FbHalf{(unsigned short)(magnitude > 0x7f800000U ? result : result | sign)};
}
#endif
// f32 to bf16, likewise. On a device by one instruction, not for speed alone: made of integers, the
// bf16 of a boolean is a constant for the compiler, its negation a choice of -1.0 and -0.0, and
// ptxas 13.0 gives 0.0 for -0.0 where integers then read the bits of such a choice.
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
FB_FN FbBfloat fb_round_bf16(float a) {
  FbBfloat result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
  return result;
}
#else
FB_FN FbBfloat fb_round_bf16(float a) {
  const unsigned bits = FB_BITS(a);
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const unsigned rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  return FbBfloat{(unsigned short)(nan ? 0x7fffU : rounded)};
}
#endif

// To f32 by rounding to odd: what is not exact gets the neighbour with an odd last bit, so that a
// second rounding to a narrower type comes out as one rounding of the exact number would.
FB_FN float fb_odd_f32(float a) { return a; }
FB_FN float fb_odd_f32(double a) {
  const float near = (float)a;
  const double back = (double)near;
  const unsigned bits = FB_BITS(near);
  const bool away = (back > a) == (a > 0.0);
  const unsigned odd = away ? bits - 1U : bits + 1U;
  return back == a || a != a || (bits & 1U) != 0U ? near : FB_FLOAT(odd);
}
FB_FN float fb_odd_f32(long long a) {
  // Beyond 2^53 the lowest eleven bits become one that says whether any was set.
  const long long cut = (a & ~2047LL) | ((a & 2047LL) != 0 ? 1024LL : 0LL);
  const bool large = a > 9007199254740992LL || a < -9007199254740992LL;
  return fb_odd_f32((double)(large ? cut : a));
}
FB_FN float fb_odd_f32(int a) { return fb_odd_f32((double)a); }
FB_FN float fb_odd_f32(unsigned char a) { return (float)a; }
FB_FN float fb_odd_f32(bool a) { return a ? 1.0F : 0.0F; }

// Reals become integers toward zero and saturate; NaN gives 0.
FB_FN int fb_cut_i32(float a) {
  const float inside = a >= -2147483648.0F && a < 2147483648.0F ? a : 0.0F;
  const int cut = (int)inside;
  return a >= 2147483648.0F ? 2147483647 : (a < -2147483648.0F ? -2147483647 - 1 : cut);
}
FB_FN int fb_cut_i32(double a) {
  const double inside = a > -2147483649.0 && a < 2147483648.0 ? a : 0.0;
  const int cut = (int)inside;
  return a >= 2147483648.0 ? 2147483647 : (a <= -2147483649.0 ? -2147483647 - 1 : cut);
}
FB_FN long long fb_cut_i64(double a) {
  const double inside = a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? a : 0.0;
  const long long cut = (long long)inside;
  return a >= 9223372036854775808.0
             ? 9223372036854775807LL
             : (a < -9223372036854775808.0 ? -9223372036854775807LL - 1 : cut);
}
FB_FN unsigned char fb_cut_u8(double a) {
  return (unsigned char)(int)(a > 0.0 ? (a < 255.0 ? a : 255.0) : 0.0);
}
FB_FN unsigned char fb_cut_u8(float a) {
  return (unsigned char)(int)(a > 0.0F ? (a < 255.0F ? a : 255.0F) : 0.0F);
}

// The casts. Integers to a narrower integer wrap; to a real they round to the nearest; anything
// but 0 becomes the boolean 1, NaN too.
#define FB_CASTS_OF(T)                                             \
  FB_FN double fb_to_f64(T a) { return (double)a; }                \
  FB_FN float fb_to_f32(T a) { return (float)a; }                  \
  FB_FN FbHalf fb_to_f16(T a) { return fb_round_f16(fb_odd_f32(a)); } \
  FB_FN FbBfloat fb_to_bf16(T a) { return fb_round_bf16(fb_odd_f32(a)); }
#define FB_CASTS_OF_INTEGER(T)                                         \
  FB_CASTS_OF(T)                                                       \
  FB_FN long long fb_to_i64(T a) { return (long long)a; }              \
  FB_FN int fb_to_i32(T a) { return (int)(unsigned)(long long)a; }     \
  FB_FN unsigned char fb_to_u8(T a) { return (unsigned char)(long long)a; } \
  FB_FN bool fb_to_boolean(T a) { return a != 0; }
#define FB_CASTS_OF_REAL(T)                                        \
  FB_CASTS_OF(T)                                                   \
  FB_FN long long fb_to_i64(T a) { return fb_cut_i64((double)a); } \
  FB_FN int fb_to_i32(T a) { return fb_cut_i32(a); }               \
  FB_FN unsigned char fb_to_u8(T a) { return fb_cut_u8(a); }       \
  FB_FN bool fb_to_boolean(T a) { return a != 0; }
#define FB_CASTS_OF_HALF(T)                                                \
  FB_FN double fb_to_f64(T a) { return (double)fb_to_f32(a); }             \
  FB_FN FbHalf fb_to_f16(T a) { return fb_round_f16(fb_to_f32(a)); }       \
  FB_FN FbBfloat fb_to_bf16(T a) { return fb_round_bf16(fb_to_f32(a)); }   \
  FB_FN long long fb_to_i64(T a) { return fb_to_i64(fb_to_f32(a)); }       \
  FB_FN int fb_to_i32(T a) { return fb_to_i32(fb_to_f32(a)); }             \
  FB_FN unsigned char fb_to_u8(T a) { return fb_to_u8(fb_to_f32(a)); }     \
  FB_FN bool fb_to_boolean(T a) { return fb_to_boolean(fb_to_f32(a)); }
FB_CASTS_OF_REAL(double)
FB_CASTS_OF_REAL(float)
FB_CASTS_OF_INTEGER(long long)
FB_CASTS_OF_INTEGER(int)
FB_CASTS_OF_INTEGER(unsigned char)
FB_CASTS_OF_INTEGER(bool)
FB_CASTS_OF_HALF(FbHalf)
FB_CASTS_OF_HALF(FbBfloat)
