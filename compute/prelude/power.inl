// Powers. f64 carries the logarithm in two pieces, f32 in f64.

// a + b as a rounded sum and what was lost; a b as a rounded product and what was lost (Dekker's
// splitting, Numerische Mathematik 18, 1971).
struct FbPair {
  double high;
  double low;
};
FB_FN FbPair fb_two_sum(double a, double b) {
  const double high = a + b;
  const double part = high - a;
  return FbPair{high, (a - (high - part)) + (b - part)};
}
FB_FN FbPair fb_two_product(double a, double b) {
  const double a_scaled = a * 134217729.0;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const double b_scaled = b * 134217729.0;
  const double b_high = b_scaled - (b_scaled - b);
  const double b_low = b - b_high;
  const double high = a * b;
  const double low = ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return FbPair{high, low};
}

// log(x) for a positive finite x, to about 2^-65: s (2 + 2/3 s^2 + ...) with the first two terms in
// pieces.
FB_FN FbPair fb_log_pair(double x) {
  const FbSplit split = fb_split(x);
  const double f = split.m - 1.0;
  const double d = 2.0 + f;
  const double d_low = f - (d - 2.0);
  const double s = f / d;
  const FbPair back = fb_two_product(s, d);
  const double s_low = (((f - back.high) - back.low) - s * d_low) / d;
  const FbPair square = fb_two_product(s, s);
  const double z = square.high;
  const double z_low = square.low + 2.0 * s * s_low;
  double p = 2.0 / 25.0;
  p = p * z + 2.0 / 23.0;
  p = p * z + 2.0 / 21.0;
  p = p * z + 2.0 / 19.0;
  p = p * z + 2.0 / 17.0;
  p = p * z + 2.0 / 15.0;
  p = p * z + 2.0 / 13.0;
  p = p * z + 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  const FbPair third = fb_two_sum(0.6666666666666666, p * z);
  const double third_low = third.low + 3.700743415417188e-17;
  const FbPair w = fb_two_product(z, third.high);
  const double w_low = w.low + (z * third_low + z_low * third.high);
  const FbPair two = fb_two_sum(2.0, w.high);
  const double two_low = two.low + w_low;
  const FbPair product = fb_two_product(s, two.high);
  const double product_low = product.low + (s * two_low + s_low * two.high);
  const FbPair whole = fb_two_sum(split.e * 6.93147180369123816490e-01, product.high);
  return FbPair{whole.high,
                whole.low + (product_low + split.e * 1.90821492927058770002e-10)};
}

// What a power gives beside the plain case, which `plain` = |x|^y is for.
FB_FN double fb_power_edges(double x, double y, double plain) {
  const double infinite = FB_DOUBLE(0x7ff0000000000000ULL);
  const double m = fb_magnitude(x);
  const double n = fb_magnitude(y);
  // |x|^y where x is 0 or infinite or y infinite.
  const double grown = y > 0.0 ? (m > 1.0 ? infinite : 0.0) : (m > 1.0 ? 0.0 : infinite);
  const double edge = m == 1.0 ? 1.0 : grown;
  const double size = m == 0.0 ? edge : (m == infinite ? edge : (n == infinite ? edge : plain));
  // What a negative x makes of it: -1 times the same for an odd y, no number between whole ones.
  const double cut = n < 4503599627370496.0 ? FB_TRUNC64(y) : y;
  const double half = n < 9007199254740992.0 ? 0.5 * y : 0.0;
  const double sign = FB_TRUNC64(half) == half ? 1.0 : -1.0;
  const double below = cut == y ? sign * size : FB_DOUBLE(0x7ff8000000000000ULL);
  // A negative infinity has a magnitude for every exponent.
  const double left = m == infinite ? (cut == y ? sign * size : size) : below;
  const double zero = m == 0.0 ? (cut == y ? sign * size : size) : left;
  const double value = fb_with_sign(1.0, x) < 0.0 ? zero : size;
  const double number = x != x ? x : (y != y ? y : value);
  return y == 0.0 ? 1.0 : (x == 1.0 ? 1.0 : number);
}
FB_FN double fb_pow(double x, double y) {
  const double m = fb_magnitude(x);
  const FbPair l = fb_log_pair(m > 0.0 && m < FB_DOUBLE(0x7ff0000000000000ULL) ? m : 1.0);
  // Beyond this every power overflows or vanishes.
  const double bounded = y > 3.7e19 ? 3.7e19 : (y < -3.7e19 ? -3.7e19 : (y != y ? 0.0 : y));
  const FbPair t = fb_two_product(bounded, l.high);
  return fb_power_edges(x, y, fb_exp_core(t.high, t.low + bounded * l.low, 0.0));
}
FB_FN float fb_pow(float x, float y) {
  const double wide = (double)x;
  const double exponent = (double)y;
  const double m = fb_magnitude(wide);
  const FbSplit split = fb_split(m > 1e-50 ? (m < 1e50 ? m : 1.0) : 1.0);
  const double l = fb_log_core(split.m, split.e * 1.90821492927058770002e-10) +
                   split.e * 6.93147180369123816490e-01;
  const double bounded = fb_magnitude(exponent) < 1e50 ? exponent : 0.0;
  return (float)fb_power_edges(wide, exponent, fb_exp(bounded * l));
}

// Integers: modulo 2^n; a negative exponent gives what is left of 1 / a^-b toward zero, and 0^-1
// gives 0.
#define FB_POWER(T, U)                                                        \
  FB_FN T fb_pow(T a, T b) {                                                  \
    U base = (U)a;                                                            \
    U result = 1;                                                             \
    for (U left = b < 0 ? (U)0 : (U)b; left != 0; left = (U)(left >> 1)) {    \
      if ((left & 1U) != 0) result = (U)(result * base);                      \
      base = (U)(base * base);                                                \
    }                                                                         \
    const bool odd = ((U)b & 1U) != 0;                                        \
    const T tiny = a == (T)1 ? (T)1 : ((U)a == (U)(-1) ? (odd ? a : (T)1) : (T)0); \
    return b < 0 ? tiny : (T)result;                                          \
  }
FB_POWER(long long, unsigned long long)
FB_POWER(int, unsigned)
FB_POWER(unsigned char, unsigned)
