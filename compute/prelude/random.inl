// Random numbers that depend on a key and the element's index alone.
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

FB_FN double fb_cos_turns(double t) {
  const double quarter = fb_nearest(t * 4.0);
  const double a = (t - quarter * 0.25) * 6.283185307179586;
  const int q = (int)(FB_BITS64(quarter + 6755399441055744.0) & 3ULL);
  const double value = (q & 1) != 0 ? fb_sin_core(a) : fb_cos_core(a);
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

// The same in f64, in steps of 2^-53.
FB_FN double fb_random_part(unsigned high, unsigned low) {
  return ((double)(high >> 5) * 67108864.0 + (double)(low >> 6)) * 1.1102230246251565e-16;
}
FB_FN double fb_random_uniform_f64(int key0, int key1, unsigned long long index) {
  const FbPhilox bits = fb_philox(index, (unsigned)key0, (unsigned)key1);
  return fb_random_part(bits.w[0], bits.w[1]);
}
FB_FN double fb_random_normal_f64(int key0, int key1, unsigned long long index) {
  const FbPhilox bits = fb_philox(index, (unsigned)key0, (unsigned)key1);
  const double u = fb_random_part(bits.w[0], bits.w[1]) + 1.1102230246251565e-16;
  return FB_SQRT64(-2.0 * fb_log(u)) * fb_cos_turns(fb_random_part(bits.w[2], bits.w[3]));
}
