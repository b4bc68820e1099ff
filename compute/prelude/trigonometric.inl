// Sines, cosines and tangents, and their inverses. f32 is computed in f64 and rounded once.

// x - n pi/2 for the whole number n nearest to x / (pi/2), and the last two bits of n.
struct FbTurn {
  double r;
  int quarter;
};
FB_FN bool fb_is_far(double x) { return x <= -2147483648.0 || x >= 2147483648.0; }

// In pieces of pi/2 of 22 bits, so that the first products are exact; nothing of use if x is far.
FB_FN FbTurn fb_near_turn(double x) {
  const double inside = fb_is_far(x) ? 0.0 : x;
  const double n = fb_nearest(inside * 0.6366197723675814);
  double r = inside - n * 1.570796012878418;
  r = r - n * 3.139164164167596e-07;
  r = r - n * 6.223371969669989e-14;
  r = r - n * 2.0222659584103533e-21;
  r = r - n * 2.9038559739793605e-28;
  const int quarter = (int)(FB_BITS64(n + 6755399441055744.0) & 3ULL);
  return FbTurn{n == 0.0 ? x : r, quarter};  // -0 stays -0
}

// Of any x that is far, by as many bits of 2/pi as its exponent asks for: Payne and Hanek, "Radian
// reduction for trigonometric functions", SIGNUM Newsletter 18 (1983). Infinity gives NaN.
FB_FN_RARE FbTurn fb_far_turn(double x) {
  static constexpr unsigned kTwoOverPi[] = {
      0xa2f9836eU, 0x4e441529U, 0xfc2757d1U, 0xf534ddc0U, 0xdb629599U, 0x3c439041U, 0xfe5163abU,
      0xdebbc561U, 0xb7246e3aU, 0x424dd2e0U, 0x06492eeaU, 0x09d1921cU, 0xfe1deb1cU, 0xb129a73eU,
      0xe88235f5U, 0x2ebb4484U, 0xe99c7026U, 0xb45f7e41U, 0x3991d639U, 0x835339f4U, 0x9c845f8bU,
      0xbdf9283bU, 0x1ff897ffU, 0xde05980fU, 0xef2f118bU, 0x5a0a6d1fU, 0x6d367ecfU, 0x27cb09b7U,
      0x4f463f66U, 0x9e5fea2dU, 0x7527bac7U, 0xebe5f17bU, 0x3d0739f7U, 0x8a5292eaU, 0x6bfb5fb1U,
      0x1f8d5d08U, 0x56033046U};
  constexpr int kWords = 7;
  const unsigned long long bits = FB_BITS64(x) & 0x7fffffffffffffffULL;
  if (bits >= 0x7ff0000000000000ULL) return FbTurn{x - x, 0};
  // |x| = m 2^e. Words before `first` only give multiples of 4, those after the seventh nothing
  // that a result shows.
  const int e = (int)(bits >> 52) - 1075;
  const unsigned long long m = (bits & 0xfffffffffffffULL) | 0x10000000000000ULL;
  const int first = e < 34 ? 0 : (e - 2) / 32;
  unsigned product[kWords + 2] = {};  // the lowest word first
  for (int k = 0; k < kWords; ++k) {
    const unsigned long long word = kTwoOverPi[first + kWords - 1 - k];
    const unsigned long long low = word * (m & 0xffffffffULL) + product[k];
    product[k] = (unsigned)low;
    const unsigned long long high = word * (m >> 32) + product[k + 1] + (low >> 32);
    product[k + 1] = (unsigned)high;
    product[k + 2] = (unsigned)(high >> 32);
  }
  // A number of quarter turns whose fraction has so many bits: two bits before the point and 126
  // behind it.
  const int fraction = 32 * (first + kWords) - e;
  const int from = (fraction - 126) / 32, shift = (fraction - 126) % 32;
  unsigned words[4];
  for (int k = 0; k < 4; ++k) {
    const unsigned long long two =
        (unsigned long long)(from + k + 1 < kWords + 2 ? product[from + k + 1] : 0U) << 32 |
        product[from + k];
    words[k] = (unsigned)(two >> shift);
  }
  unsigned long long high = (unsigned long long)words[3] << 32 | words[2];
  unsigned long long low = (unsigned long long)words[1] << 32 | words[0];
  int quarter = (int)(high >> 62);
  high &= 0x3fffffffffffffffULL;
  const bool next = high >> 61 != 0ULL;  // nearer to the next quarter: the rest is negative
  if (next) {
    quarter = (quarter + 1) & 3;
    low = 0ULL - low;
    high = 0x4000000000000000ULL - high - (low != 0ULL ? 1ULL : 0ULL);
  }
  // The rest in two numbers: its first 53 bits and what follows.
  int lost = 0;
  while (high >> 63 == 0ULL && lost < 126) {
    high = high << 1 | low >> 63;
    low <<= 1;
    ++lost;
  }
  const double scale = FB_DOUBLE((unsigned long long)(1023 - 62 - lost) << 52);
  const double leading = (double)(long long)(high >> 11) * 2048.0 * scale;
  const double rest = (double)(long long)(((high & 0x7ffULL) << 42) | low >> 22) *
                      2.2737367544323206e-13 * scale;
  const double r = leading * 1.5707963267948966 +
                   (leading * 6.123233995736766e-17 + rest * 1.5707963267948966);
  const bool negative = (FB_BITS64(x) >> 63) != 0ULL;
  return FbTurn{next != negative ? -r : r, negative ? (4 - quarter) & 3 : quarter};
}

// Loops that have to vectorise define FB_NEAR_TURNS, and look for what is far before.
FB_FN FbTurn fb_any_turn(double x) { return fb_is_far(x) ? fb_far_turn(x) : fb_near_turn(x); }
#if defined(FB_NEAR_TURNS)
FB_FN FbTurn fb_turn(double x) { return fb_near_turn(x); }
#else
FB_FN FbTurn fb_turn(double x) { return fb_any_turn(x); }
#endif

// Taylor's series for |r| <= pi/4.
FB_FN double fb_sin_core(double r) {
  const double s = r * r;
  double p = 2.8114572543455206e-15;
  p = p * s + -7.647163731819816e-13;
  p = p * s + 1.6059043836821613e-10;
  p = p * s + -2.505210838544172e-08;
  p = p * s + 2.7557319223985893e-06;
  p = p * s + -0.0001984126984126984;
  p = p * s + 0.008333333333333333;
  p = p * s + -0.16666666666666666;
  return r == 0.0 ? r : r + (r * s) * p;
}
FB_FN double fb_cos_core(double r) {
  const double s = r * r;
  double p = -1.5619206968586225e-16;
  p = p * s + 4.779477332387385e-14;
  p = p * s + -1.1470745597729725e-11;
  p = p * s + 2.08767569878681e-09;
  p = p * s + -2.755731922398589e-07;
  p = p * s + 2.48015873015873e-05;
  p = p * s + -0.001388888888888889;
  p = p * s + 0.041666666666666664;
  const double half = 0.5 * s;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + (s * s) * p);
}

FB_FN double fb_sin_of(FbTurn turn) {
  const double y = (turn.quarter & 1) != 0 ? fb_cos_core(turn.r) : fb_sin_core(turn.r);
  return (turn.quarter & 2) != 0 ? -y : y;
}
FB_FN double fb_cos_of(FbTurn turn) {
  const double y = (turn.quarter & 1) != 0 ? fb_sin_core(turn.r) : fb_cos_core(turn.r);
  return turn.quarter == 1 || turn.quarter == 2 ? -y : y;
}
FB_FN double fb_tan_of(FbTurn turn) {
  const double sine = fb_sin_core(turn.r);
  const double cosine = fb_cos_core(turn.r);
  return (turn.quarter & 1) != 0 ? -(cosine / sine) : sine / cosine;
}

FB_FN double fb_sin(double x) { return fb_sin_of(fb_turn(x)); }
FB_FN double fb_cos(double x) { return fb_cos_of(fb_turn(x)); }
FB_FN double fb_tan(double x) { return fb_tan_of(fb_turn(x)); }

// atan(t) for |t| <= tan(pi/8): a polynomial in t^2, fitted at Chebyshev's points.
FB_FN double fb_atan_core(double t) {
  const double z = t * t;
  double p = 0.01627194475162406;
  p = p * z + -0.034558092551413795;
  p = p * z + 0.04551108126325172;
  p = p * z + -0.052303478730160745;
  p = p * z + 0.058789145444006215;
  p = p * z + -0.06666423628069258;
  p = p * z + 0.0769229630497447;
  p = p * z + -0.09090908751076636;
  p = p * z + 0.11111111105106705;
  p = p * z + -0.14285714285659326;
  p = p * z + 0.199999999999998;
  p = p * z + -0.3333333333333333;
  return t + (t * z) * p;
}
// atan(a / b) for 0 <= a <= b: beyond tan(pi/8) as pi/4 + atan((a - b) / (a + b)).
FB_FN double fb_atan_ratio(double a, double b) {
  const bool high = a > b * 0.41421356237309503;
  const double t = (high ? a - b : a) / (high ? a + b : b);
  const double y = fb_atan_core(t);
  return high ? 0.7853981633974483 + (y + 3.061616997868383e-17) : y;
}
FB_FN double fb_atan(double x) {
  const double m = fb_magnitude(x);
  const bool high = m > 1.0;
  const double infinite = FB_DOUBLE(0x7ff0000000000000ULL);
  const double y = m == infinite ? 0.0 : fb_atan_ratio(high ? 1.0 : m, high ? m : 1.0);
  const double whole = high ? 1.5707963267948966 - (y - 6.123233995736766e-17) : y;
  return fb_with_sign(whole, x);
}
// The angle of the point (x, y), with the signs of zeros as IEEE 754 wants them.
FB_FN double fb_atan2(double y, double x) {
  const double ay = fb_magnitude(y);
  const double ax = fb_magnitude(x);
  const double infinite = FB_DOUBLE(0x7ff0000000000000ULL);
  const bool steep = ay > ax;
  const double small = steep ? ax : ay;
  const double large = steep ? ay : ax;
  const double ratio = large == 0.0                          ? 0.0
                       : large == infinite && small == infinite ? 0.7853981633974483
                       : large == infinite                   ? 0.0
                                                             : fb_atan_ratio(small, large);
  const double first = steep ? 1.5707963267948966 - (ratio - 6.123233995736766e-17) : ratio;
  const bool left = (FB_BITS64(x) >> 63) != 0ULL;
  const double angle = left ? 3.141592653589793 - (first - 1.2246467991473532e-16) : first;
  return x != x || y != y ? x + y : fb_with_sign(angle, y);
}

// asin(x) for |x| <= 1/2: a polynomial in x^2. Beyond that pi/2 - 2 asin(sqrt((1 - x) / 2)).
FB_FN double fb_asin_core(double x) {
  const double z = x * x;
  double p = 0.02965806130390572;
  p = p * z + -0.019313465666024366;
  p = p * z + 0.01960393110799315;
  p = p * z + 0.0030251140174674947;
  p = p * z + 0.009324648476317875;
  p = p * z + 0.009620961262630293;
  p = p * z + 0.011566564202171593;
  p = p * z + 0.013963771548009896;
  p = p * z + 0.017352816997695017;
  p = p * z + 0.022372157427705222;
  p = p * z + 0.030381944475855856;
  p = p * z + 0.04464285714254847;
  p = p * z + 0.07500000000000119;
  p = p * z + 0.16666666666666666;
  return x + (x * z) * p;
}
FB_FN double fb_asin(double x) {
  const double m = fb_magnitude(x);
  const bool high = m > 0.5;
  const double root = FB_SQRT64(high ? 0.5 * (1.0 - m) : 0.0);
  const double y = fb_asin_core(high ? root : m);
  const double whole = high ? 1.5707963267948966 - (2.0 * y - 6.123233995736766e-17) : y;
  return fb_with_sign(whole, x);
}
FB_FN double fb_acos(double x) {
  const double m = fb_magnitude(x);
  const bool high = m > 0.5;
  const double root = FB_SQRT64(high ? 0.5 * (1.0 - m) : 0.0);
  const double y = fb_asin_core(high ? root : x);
  const double near = x > 0.0 ? 2.0 * y : 3.141592653589793 - (2.0 * y - 1.2246467991473532e-16);
  return high || x != x ? near : 1.5707963267948966 - (y - 6.123233995736766e-17);
}

FB_SINGLE_1(fb_sin)
FB_SINGLE_1(fb_cos)
FB_SINGLE_1(fb_tan)
FB_SINGLE_1(fb_asin)
FB_SINGLE_1(fb_acos)
FB_SINGLE_1(fb_atan)
FB_FN float fb_atan2(float a, float b) { return (float)fb_atan2((double)a, (double)b); }
