// Exponential and logarithm.
// 2^n for -126 <= n <= 127.
FB_FN float fb_pow2(int n) { return FB_FLOAT((unsigned)(n + 127) << 23); }

// e^x 2^extra: x = n ln 2 + r in two pieces (Cody and Waite), Cephes' polynomial for |r| <= ln 2 / 2.
// The bounds give 0 and infinity. Adding 1.5 2^23 leaves the whole number in the lowest bits.
FB_FN float fb_exp_core(float x, int extra) {
  const float bounded = FB_LOWER(FB_HIGHER(x, -120.0F), 89.0F);
  const float shifted = FB_FMA(bounded, 1.44269504F, 12582912.0F);
  const float n = shifted - 12582912.0F;
  const float r = FB_FMA(n, 2.12194440e-4F, FB_FMA(n, -0.693359375F, bounded));
  float p = FB_FMA(1.9875691500e-4F, r, 1.3981999507e-3F);
  p = FB_FMA(p, r, 8.3334519073e-3F);
  p = FB_FMA(p, r, 4.1665795894e-2F);
  p = FB_FMA(p, r, 1.6666665459e-1F);
  p = FB_FMA(p, r, 5.0000001201e-1F);
  const float y = (p * (r * r) + r) + 1.0F;
  const int whole = (int)(FB_BITS(shifted) - 0x4b400000U) + extra;
  const int half = whole >> 1;
  const float scaled = (y * fb_pow2(half)) * fb_pow2(whole - half);
  return x != x ? x : scaled;
}
FB_FN float fb_exp(float x) { return fb_exp_core(x, 0); }

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

// 2^n for -1022 <= n <= 1023.
FB_FN double fb_pow2_64(long long n) { return FB_DOUBLE((unsigned long long)(n + 1023) << 52); }

FB_FN double fb_magnitude(double x) { return FB_DOUBLE(FB_BITS64(x) & 0x7fffffffffffffffULL); }
FB_FN double fb_with_sign(double magnitude, double sign) {
  return FB_DOUBLE(FB_BITS64(magnitude) | (FB_BITS64(sign) & 0x8000000000000000ULL));
}

// The whole number nearest to x, for |x| < 2^51.
FB_FN double fb_nearest(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

// e^(r + low) - 1 for |r| <= 0.35 and |low| < 2^-54: Taylor's series up to r^13, whose rest is
// below 2^-57.
FB_FN double fb_expm1_core(double r, double low) {
  double p = 1.6059043836821613e-10;
  p = p * r + 2.08767569878681e-9;
  p = p * r + 2.505210838544172e-8;
  p = p * r + 2.755731922398589e-7;
  p = p * r + 2.7557319223985893e-6;
  p = p * r + 2.48015873015873e-5;
  p = p * r + 1.984126984126984e-4;
  p = p * r + 1.388888888888889e-3;
  p = p * r + 8.333333333333333e-3;
  p = p * r + 4.1666666666666664e-2;
  p = p * r + 1.6666666666666666e-1;
  p = p * r + 0.5;
  return (p * (r * r) + low) + r;
}

// y 2^n for |n| <= 2040, in two steps: only the last one rounds.
FB_FN double fb_scale(double y, double n) {
  // Whole numbers lie in the lowest bits once this is added.
  const long long whole = (long long)FB_BITS64(n + 6755399441055744.0) - 0x4338000000000000LL;
  const long long half = whole >> 1;
  return (y * fb_pow2_64(half)) * fb_pow2_64(whole - half);
}

// e^(x + low) 2^extra for |low| < 2^-15: x = n ln 2 + r in two pieces.
FB_FN double fb_exp_core(double x, double low, double extra) {
  const double bounded = x > 712.0 ? 712.0 : (x < -800.0 ? -800.0 : (x != x ? 0.0 : x));
  const double n = fb_nearest(bounded * 1.4426950408889634);
  const double rest = n * 1.90821492927058770002e-10 - (bounded == x ? low : 0.0);
  const double r = (bounded - n * 6.93147180369123816490e-01) - rest;
  return x != x ? x : fb_scale(fb_expm1_core(r, 0.0) + 1.0, n + extra);
}
FB_FN double fb_exp(double x) { return fb_exp_core(x, 0.0, 0.0); }
FB_FN double fb_exp2(double x) {
  const double bounded = x > 1025.0 ? 1025.0 : (x < -1077.0 ? -1077.0 : (x != x ? 0.0 : x));
  const double n = fb_nearest(bounded);
  const double part = bounded - n;
  const double y =
      fb_expm1_core(part * 0.6931471805599453, part * 2.3190468138462996e-17) + 1.0;
  return x != x ? x : fb_scale(y, n);
}
// e^x - 1 for -40 <= x <= 710, as 2 (2^(n-1) (p + 1) - 1/2) for p = e^r - 1: nothing overflows
// before the last step.
FB_FN double fb_expm1_within(double x) {
  const double n = fb_nearest(x * 1.4426950408889634);
  const double r = x - n * 6.93147180369123816490e-01;
  const double p = fb_expm1_core(r - n * 1.90821492927058770002e-10, 0.0);
  const double scale = fb_scale(1.0, n - 1.0);
  const double half = scale * p + (scale - 0.5);
  // Halves of the smallest numbers are none.
  return fb_magnitude(x) < 5e-17 ? x : half + half;
}
FB_FN double fb_expm1(double x) {
  const double y = fb_expm1_within(x > 710.0 ? 710.0 : (x > -40.0 ? x : -40.0));
  return x != x ? x : y;
}

// x = m 2^e with m in [sqrt(1/2), sqrt(2)).
struct FbSplit {
  double m;
  double e;
};
FB_FN FbSplit fb_split(double x) {
  const bool small = x < 2.2250738585072014e-308;
  const unsigned long long bits = FB_BITS64(small ? x * 18014398509481984.0 : x);
  const double m = FB_DOUBLE((bits & 0x000fffffffffffffULL) | 0x3fe0000000000000ULL);
  // The exponent as a number: its bits below 2^52.
  const double biased =
      FB_DOUBLE(((bits >> 52) & 2047ULL) | 0x4330000000000000ULL) - 4503599627370496.0;
  const bool low = m < 0.7071067811865476;
  return FbSplit{low ? m + m : m, biased - (small ? 1076.0 : 1022.0) - (low ? 1.0 : 0.0)};
}

// log(m) for m in [sqrt(1/2), sqrt(2)): with s = f / (2 + f), log(1 + f) is 2s and a series in s^2,
// put together so that f itself is added last. The rest of the series is below 2^-58.
FB_FN double fb_log_core(double m, double low) {
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 2.0 / 23.0;
  p = p * z + 2.0 / 21.0;
  p = p * z + 2.0 / 19.0;
  p = p * z + 2.0 / 17.0;
  p = p * z + 2.0 / 15.0;
  p = p * z + 2.0 / 13.0;
  p = p * z + 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  const double half = 0.5 * (f * f);
  return f - (half - (s * (half + p * z) + low));
}

// What a logarithm gives outside of the positive finite numbers.
FB_FN double fb_log_edges(double x, double finite) {
  const double beyond = x < 0.0 ? FB_DOUBLE(0x7ff8000000000000ULL) : x;
  const double special = x == 0.0 ? FB_DOUBLE(0xfff0000000000000ULL) : beyond;
  return x > 0.0 && x < FB_DOUBLE(0x7ff0000000000000ULL) ? finite : special;
}
FB_FN double fb_log(double x) {
  const FbSplit split = fb_split(x);
  const double near = fb_log_core(split.m, split.e * 1.90821492927058770002e-10);
  return fb_log_edges(x, near + split.e * 6.93147180369123816490e-01);
}
FB_FN double fb_log1p(double x) {
  const double u = 1.0 + x;
  // What the addition lost, as a part of u.
  const double lost = (x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x)) / u;
  const FbSplit split = fb_split(u);
  const double near = fb_log_core(split.m, split.e * 1.90821492927058770002e-10 + lost);
  return x == 0.0 ? x : fb_log_edges(u, near + split.e * 6.93147180369123816490e-01);
}
FB_FN double fb_log2(double x) {
  const FbSplit split = fb_split(x);
  const double l = fb_log_core(split.m, 0.0);
  const double part = l * 1.4426950408889634 + l * 2.0355273740931033e-17;
  return fb_log_edges(x, split.e + part);
}
FB_FN double fb_log10(double x) {
  const FbSplit split = fb_split(x);
  const double l = fb_log_core(split.m, 0.0);
  const double part = l * 0.4342944819032518 + split.e * 5.630334806675098e-11;
  return fb_log_edges(x, split.e * 0.30102999560767785 + part);
}

// Hyperbolic functions by expm1 and by half an exponential, which does not overflow too early.
FB_FN double fb_sinh(double x) {
  const double m = fb_magnitude(x);
  const double t = fb_expm1_within(m < 22.0 ? m : 22.0);
  const double near = 0.5 * (t + t / (t + 1.0));
  const double far = fb_exp_core(m, 0.0, -1.0);
  const double y = fb_with_sign(m < 22.0 ? near : far, x);
  return x != x ? x : y;
}
FB_FN double fb_cosh(double x) {
  const double half = fb_exp_core(fb_magnitude(x), 0.0, -1.0);
  return half + 0.25 / half;
}
FB_FN double fb_tanh(double x) {
  const double m = fb_magnitude(x);
  const double t = fb_expm1_within(2.0 * (m < 22.0 ? m : 22.0));
  const double y = fb_with_sign(t / (t + 2.0), x);
  return x != x ? x : y;
}
FB_FN float fb_tanh(float x) {
  const float m = FB_FLOAT(FB_BITS(x) & 0x7fffffffU);
  const float small = m < 0.625F ? x : 0.0F;
  const float z = small * small;
  float p = 2.292557699e-03F;
  p = p * z + -8.343780370e-03F;
  p = p * z + 2.176886821e-02F;
  p = p * z + -5.395925338e-02F;
  p = p * z + 1.333330353e-01F;
  p = p * z + -3.333333317e-01F;
  const float near = small + (small * z) * p;
  const float far = 1.0F - FB_DIV(2.0F, fb_exp(m + m) + 1.0F);
  const float y = m < 0.625F ? near : FB_FLOAT(FB_BITS(far) | (FB_BITS(x) & 0x80000000U));
  return x != x || x == 0.0F ? x : y;
}

// e^x 2^64, for what is multiplied before it may become subnormal.
FB_FN double fb_exp_64(double x) { return fb_exp_core(x, 0.0, 64.0); }
FB_FN float fb_exp_64(float x) { return fb_exp_core(x, 64); }

// sigmoid(x) = 1 / (1 + e^-x), without overflow; silu(x) = x sigmoid(x), its limit at -inf.
#define FB_SIGMOID(T, DIV)                                            \
  FB_FN T fb_sigmoid(T x) {                                           \
    const T e = fb_exp(x < 0 ? x : -x);                               \
    return DIV(x < 0 ? e : (T)1, (T)1 + e);                           \
  }                                                                   \
  FB_FN T fb_silu(T x) {                                              \
    const T scale = (T)5.421010862427522e-20; /* 2^-64 */             \
    const T e = fb_exp_64(x < 0 ? x : -x);                            \
    const T y = DIV(x < 0 ? x * e : x, (T)1 + e * scale);             \
    return x < (T)(-1e4) ? (T)(-0.0) : (x < 0 ? y * scale : y);       \
  }
#define FB_DIV64(a, b) ((a) / (b))
FB_SIGMOID(double, FB_DIV64)
FB_SIGMOID(float, FB_DIV)
FB_FN double fb_softplus(double x) {
  return (x > 0.0 || x != x ? x : 0.0) + fb_log1p(fb_exp(x < 0.0 ? x : -x));
}

// f32 where f64 does the work: rounded once.
#define FB_SINGLE_1(op) \
  FB_FN float op(float a) { return (float)op((double)a); }
FB_SINGLE_1(fb_exp2)
FB_SINGLE_1(fb_expm1)
FB_SINGLE_1(fb_log2)
FB_SINGLE_1(fb_log10)
FB_SINGLE_1(fb_log1p)
FB_SINGLE_1(fb_sinh)
FB_SINGLE_1(fb_cosh)
FB_SINGLE_1(fb_softplus)
