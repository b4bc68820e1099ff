// Exponential and logarithm.
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

// 2^n for -1022 <= n <= 1023.
FB_FN double fb_pow2_64(long long n) { return FB_DOUBLE((unsigned long long)(n + 1023) << 52); }

// The whole number nearest to x, for |x| < 2^51.
FB_FN double fb_nearest(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

// e^(r + low) - 1 for |r| <= 0.35: Taylor's series up to r^13, whose rest is below 2^-57.
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

// e^(x + low) for a `low` that is small beside x: x = n ln 2 + r in two pieces.
FB_FN double fb_exp_core(double x, double low) {
  const double bounded = x > 710.0 ? 710.0 : (x < -746.0 ? -746.0 : (x != x ? 0.0 : x));
  const double n = fb_nearest(bounded * 1.4426950408889634);
  const double r = bounded - n * 6.93147180369123816490e-01;
  const double y = fb_expm1_core(r - n * 1.90821492927058770002e-10, low) + 1.0;
  // Whole numbers lie in the lowest bits once this is added.
  const long long whole = (long long)FB_BITS64(n + 6755399441055744.0) - 0x4338000000000000LL;
  const long long half = whole >> 1;
  const double scaled = (y * fb_pow2_64(half)) * fb_pow2_64(whole - half);
  return x != x ? x : (x > 709.782712893384 ? FB_DOUBLE(0x7ff0000000000000ULL) : scaled);
}
FB_FN double fb_exp(double x) { return fb_exp_core(x, 0.0); }

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
  const double special =
      x == 0.0 ? FB_DOUBLE(0xfff0000000000000ULL) : (x < 0.0 ? FB_DOUBLE(0x7ff8000000000000ULL) : x);
  return x > 0.0 && x < FB_DOUBLE(0x7ff0000000000000ULL) ? finite : special;
}
FB_FN double fb_log(double x) {
  const FbSplit split = fb_split(x);
  const double near = fb_log_core(split.m, split.e * 1.90821492927058770002e-10);
  return fb_log_edges(x, near + split.e * 6.93147180369123816490e-01);
}
