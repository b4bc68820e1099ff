// The functions behind every elementwise operation, one text for all executors: C++ on the host,
// and pasted in front of every generated CUDA kernel. It includes nothing and uses no fused
// multiply-add (contraction is off on both sides), so that a function gives the same bits
// everywhere.
//
// FB_FN marks a function; FB_SQRT and FB_DIV are the correctly rounded operations; FB_BITS and
// FB_FLOAT move bit patterns.
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
#define FB_FN static __device__ __forceinline__
#define FB_SQRT(x) __fsqrt_rn(x)
#define FB_DIV(a, b) __fdiv_rn(a, b)
#define FB_BITS(x) __float_as_uint(x)
#define FB_FLOAT(x) __uint_as_float(x)
#else
// Always inline: loops over these functions must vectorise.
#define FB_FN [[maybe_unused, gnu::always_inline]] static inline
#define FB_SQRT(x) __builtin_sqrtf(x)
#define FB_DIV(a, b) ((a) / (b))
#define FB_BITS(x) __builtin_bit_cast(unsigned int, x)
#define FB_FLOAT(x) __builtin_bit_cast(float, x)
#endif

// Integers wrap modulo 2^32.
FB_FN int fb_neg(int a) { return (int)(0U - (unsigned)a); }
FB_FN int fb_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
FB_FN int fb_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
FB_FN int fb_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
FB_FN int fb_min(int a, int b) { return a < b ? a : b; }
FB_FN int fb_max(int a, int b) { return a > b ? a : b; }
FB_FN int fb_relu(int a) { return a > 0 ? a : 0; }
FB_FN int fb_greater(int a, int b) { return a > b ? 1 : 0; }
FB_FN int fb_equal(int a, int b) { return a == b ? 1 : 0; }
FB_FN int fb_select(int a, int b, int c) { return a != 0 ? b : c; }

FB_FN float fb_neg(float a) { return -a; }
FB_FN float fb_add(float a, float b) { return a + b; }
FB_FN float fb_sub(float a, float b) { return a - b; }
FB_FN float fb_mul(float a, float b) { return a * b; }
FB_FN float fb_div(float a, float b) { return FB_DIV(a, b); }
FB_FN float fb_sqrt(float a) { return FB_SQRT(a); }
// NaN wins, and -0 is below +0: equal values differ in the sign of zero at most.
FB_FN float fb_min(float a, float b) {
  return a == b ? FB_FLOAT(FB_BITS(a) | FB_BITS(b)) : (a < b || a != a ? a : b);
}
FB_FN float fb_max(float a, float b) {
  return a == b ? FB_FLOAT(FB_BITS(a) & FB_BITS(b)) : (a > b || a != a ? a : b);
}
FB_FN float fb_relu(float a) { return a > 0.0F || a != a ? a : 0.0F; }
FB_FN float fb_greater(float a, float b) { return a > b ? 1.0F : 0.0F; }
FB_FN float fb_equal(float a, float b) { return a == b ? 1.0F : 0.0F; }
FB_FN float fb_select(float a, float b, float c) { return a != 0.0F ? b : c; }
FB_FN int fb_select(float a, int b, int c) { return a != 0.0F ? b : c; }
FB_FN float fb_select(int a, float b, float c) { return a != 0 ? b : c; }

FB_FN float fb_to_f32(float a) { return a; }
FB_FN float fb_to_f32(int a) { return (float)a; }
FB_FN int fb_to_i32(int a) { return a; }
// Toward zero; saturates, and NaN gives 0.
FB_FN int fb_to_i32(float a) {
  const float inside = a >= -2147483648.0F && a < 2147483648.0F ? a : 0.0F;
  const int cut = (int)inside;
  return a >= 2147483648.0F ? 2147483647 : (a < -2147483648.0F ? -2147483647 - 1 : cut);
}

// 2^n for -126 <= n <= 127.
FB_FN float fb_pow2(int n) { return FB_FLOAT((unsigned)(n + 127) << 23); }

// exp: x = n ln 2 + r in two pieces (Cody and Waite), Cephes' polynomial for |r| <= ln 2 / 2.
FB_FN float fb_exp(float x) {
  const float bounded = x > 89.0F ? 89.0F : (x < -104.0F ? -104.0F : (x != x ? 0.0F : x));
  const float n = (bounded * 1.44269504F + 12582912.0F) - 12582912.0F;
  const float r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float y = (p * (r * r) + r) + 1.0F;
  const int whole = (int)n;
  const int half = whole >> 1;
  const float scaled = (y * fb_pow2(half)) * fb_pow2(whole - half);
  return x != x ? x : (x > 88.7228394F ? FB_FLOAT(0x7f800000U) : scaled);
}

// log: x = m 2^e with m in [sqrt(1/2), sqrt(2)), Cephes' polynomial in m - 1.
FB_FN float fb_log(float x) {
  const bool small = x < 1.17549435e-38F;
  const unsigned bits = FB_BITS(small ? x * 33554432.0F : x);
  int e = (int)((bits >> 23) & 255U) - (small ? 151 : 126);
  float m = FB_FLOAT((bits & 0x007fffffU) | 0x3f000000U);
  const bool low = m < 0.707106781F;
  e = low ? e - 1 : e;
  const float z = (low ? m + m : m) - 1.0F;
  const float scale = (float)e;
  float p = 7.0376836292e-2F;
  p = p * z - 1.1514610310e-1F;
  p = p * z + 1.1676998740e-1F;
  p = p * z - 1.2420140846e-1F;
  p = p * z + 1.4249322787e-1F;
  p = p * z - 1.6668057665e-1F;
  p = p * z + 2.0000714765e-1F;
  p = p * z - 2.4999993993e-1F;
  p = p * z + 3.3333331174e-1F;
  const float square = z * z;
  const float tail = (z * square * p + scale * -2.12194440e-4F) - 0.5F * square;
  const float finite = (z + tail) + scale * 0.693359375F;
  const float special = x == 0.0F ? FB_FLOAT(0xff800000U) : (x < 0.0F ? FB_FLOAT(0x7fc00000U) : x);
  return x > 0.0F && x < FB_FLOAT(0x7f800000U) ? finite : special;
}

struct FbPhilox {
  unsigned w[4];
};

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011); the counter is the element's index.
FB_FN FbPhilox fb_philox(unsigned long long index, unsigned key0, unsigned key1) {
  FbPhilox c = {{(unsigned)index, (unsigned)(index >> 32), 0U, 0U}};
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ULL * c.w[0];
    const unsigned long long b = 0xCD9E8D57ULL * c.w[2];
    const FbPhilox next = {{(unsigned)(b >> 32) ^ c.w[1] ^ key0, (unsigned)b,
                            (unsigned)(a >> 32) ^ c.w[3] ^ key1, (unsigned)a}};
    c = next;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

// cos(2 pi t) for t in [0, 1): exact reduction to an eighth of a turn, Cephes' polynomials.
FB_FN float fb_cos_turns(float t) {
  const float quarter = (t * 4.0F + 12582912.0F) - 12582912.0F;
  const float a = (t - quarter * 0.25F) * 6.28318531F;
  const float s = a * a;
  float sine = -1.9515295891e-4F;
  sine = sine * s + 8.3321608736e-3F;
  sine = sine * s - 1.6666654611e-1F;
  sine = sine * s * a + a;
  float cosine = 2.443315711809948e-5F;
  cosine = cosine * s - 1.388731625493765e-3F;
  cosine = cosine * s + 4.166664568298827e-2F;
  cosine = (cosine * (s * s) - 0.5F * s) + 1.0F;
  const int q = (int)quarter & 3;
  const float value = (q & 1) != 0 ? sine : cosine;
  return q == 1 || q == 2 ? -value : value;
}

// [0, 1) in steps of 2^-24.
FB_FN float fb_random_uniform(int key0, int key1, unsigned long long index) {
  return (float)(fb_philox(index, (unsigned)key0, (unsigned)key1).w[0] >> 8) *
         5.9604644775390625e-8F;
}

// Box and Muller: sqrt(-2 log u) cos(2 pi v), u in (0, 1].
FB_FN float fb_random_normal(int key0, int key1, unsigned long long index) {
  const FbPhilox bits = fb_philox(index, (unsigned)key0, (unsigned)key1);
  const float u = (float)((bits.w[0] >> 8) + 1U) * 5.9604644775390625e-8F;
  const float v = (float)(bits.w[1] >> 8) * 5.9604644775390625e-8F;
  return FB_SQRT(-2.0F * fb_log(u)) * fb_cos_turns(v);
}
