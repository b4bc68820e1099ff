// The error function and what is made of it. f32 is computed in f64 and rounded once.

// exp(-(x^2) scale) 2^extra for a scale of 1 or 1/2: the square in two pieces, of which the first is
// exact.
FB_FN double fb_exp_square(double x, double scale, double extra) {
  const double high = FB_DOUBLE(FB_BITS64(x) & 0xfffffffff8000000ULL);
  const double low = (x - high) * (x + high);
  return fb_exp_core(-(high * high) * scale, -low * scale, extra);
}
// exp(x^2) erfc(x) for x >= 0.4, as a polynomial in (x - 4) / (x + 4) over 1 + 2x, fitted at
// Chebyshev's points up to 28 (the form is Schonfelder's, Math. Comp. 32, 1978).
FB_FN double fb_erfcx(double x) {
  const double u = (x - 4.0) / (x + 4.0);
  double p = -1.0904301800413554e-08;
  p = p * u + -1.2370571182593201e-08;
  p = p * u + 1.0697386199403688e-07;
  p = p * u + 6.743208791334303e-08;
  p = p * u + -8.242398559401036e-07;
  p = p * u + 2.9907694305727285e-07;
  p = p * u + 5.7098666445164875e-06;
  p = p * u + -1.1224418638241956e-05;
  p = p * u + -2.43995314294228e-05;
  p = p * u + 0.00015062237183710215;
  p = p * u + -0.00019925655839143273;
  p = p * u + -0.0007577734187612166;
  p = p * u + 0.005031969948031421;
  p = p * u + -0.016197734042670983;
  p = p * u + 0.03716751554114556;
  p = p * u + -0.06633036581323595;
  p = p * u + 0.09373283499811283;
  p = p * u + -0.10103906603626955;
  p = p * u + 0.06809705425469954;
  p = p * u + 0.015379652102619285;
  p = p * u + -0.13962111684056258;
  p = p * u + 1.2329951186255526;
  return p / (1.0 + 2.0 * x);
}
// erf(x) for |x| <= 1: x + x R(x^2).
FB_FN double fb_erf_core(double x) {
  const double z = x * x;
  double p = 5.957176147748911e-11;
  p = p * z + -1.1372848856791674e-09;
  p = p * z + 1.4659775274047436e-08;
  p = p * z + -1.6350312701054695e-07;
  p = p * z + 1.6461000484121368e-06;
  p = p * z + -1.4925595266831182e-05;
  p = p * z + 0.0001205533111164271;
  p = p * z + -0.000854832698083379;
  p = p * z + 0.0052239776248180145;
  p = p * z + -0.026866170645076792;
  p = p * z + 0.11283791670954879;
  p = p * z + -0.3761263890318375;
  p = p * z + 0.1283791670955126;
  return x + x * p;
}
FB_FN double fb_erf(double x) {
  const double m = fb_magnitude(x);
  const double bounded = m < 6.0 ? (m > 1.0 ? m : 1.0) : 6.0;
  const double far = 1.0 - fb_exp_square(bounded, 1.0, 0.0) * fb_erfcx(bounded);
  const double signed_far = fb_with_sign(far, x);
  return m <= 1.0 || x != x ? fb_erf_core(x) : signed_far;
}
// x times the normal distribution function, x erfc(-x / sqrt 2) / 2: exact in the lower tail, too.
FB_FN double fb_gelu(double x) {
  const double m = fb_magnitude(x);
  const double bounded = m < 40.0 ? (m > 0.6 ? m : 0.6) : 40.0;
  const double z = bounded * 0.7071067811865476;
  const double scale = 5.421010862427522e-20;  // 2^-64
  const double tail = 0.5 * (fb_exp_square(bounded, 0.5, 64.0) * fb_erfcx(z));
  const double far = x > 0.0 ? x * (1.0 - tail * scale) : (-bounded * tail) * scale;
  const double near = 0.5 * x * (1.0 + fb_erf_core(x * 0.7071067811865476));
  return m < 0.7 || x != x ? near : far;
}

FB_SINGLE_1(fb_erf)
FB_SINGLE_1(fb_gelu)
