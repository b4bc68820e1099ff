// Arithmetic, comparisons and selection. Integers wrap; `U` is the unsigned type of T's width, or a
// wider one.
#define FB_INTEGER(T, U)                                                  \
  FB_FN T fb_neg(T a) { return (T)fb_negative((U)a); }                    \
  FB_FN T fb_abs(T a) { return a < 0 ? (T)((U)0 - (U)a) : a; }            \
  FB_FN T fb_sign(T a) { return (T)((a > 0 ? 1 : 0) - (a < 0 ? 1 : 0)); } \
  FB_FN T fb_relu(T a) { return a > 0 ? a : (T)0; }                       \
  FB_FN T fb_add(T a, T b) { return (T)((U)a + (U)b); }                   \
  FB_FN T fb_sub(T a, T b) { return (T)((U)a - (U)b); }                   \
  FB_FN T fb_mul(T a, T b) { return (T)((U)a * (U)b); }                   \
  FB_FN T fb_min(T a, T b) { return a < b ? a : b; }                      \
  FB_FN T fb_max(T a, T b) { return a > b ? a : b; }                      \
  FB_FN T fb_fma(T a, T b, T c) { return (T)((U)a * (U)b + (U)c); }       \
  FB_FN T fb_bit_not(T a) { return (T)(~(U)a); }                          \
  FB_FN T fb_bit_and(T a, T b) { return (T)(a & b); }                     \
  FB_FN T fb_bit_or(T a, T b) { return (T)(a | b); }                      \
  FB_FN T fb_bit_xor(T a, T b) { return (T)(a ^ b); }
FB_INTEGER(long long, unsigned long long)
FB_INTEGER(int, unsigned)
FB_INTEGER(unsigned char, unsigned)

FB_FN bool fb_add(bool a, bool b) { return a | b; }
FB_FN bool fb_mul(bool a, bool b) { return a & b; }
FB_FN bool fb_min(bool a, bool b) { return a & b; }
FB_FN bool fb_max(bool a, bool b) { return a | b; }
FB_FN bool fb_bit_not(bool a) { return !a; }
FB_FN bool fb_bit_and(bool a, bool b) { return a & b; }
FB_FN bool fb_bit_or(bool a, bool b) { return a | b; }
FB_FN bool fb_bit_xor(bool a, bool b) { return a != b; }

// Division by Python's rule: the quotient is rounded down and the remainder has the divisor's sign.
// By 0 both are 0, and the least number over -1 wraps; nothing traps.
#define FB_DIVIDE(T, U)                                                                     \
  FB_FN T fb_floor_div(T a, T b) {                                                          \
    const bool odd = b == 0 || (U)b == (U)(-1);                                             \
    const T d = odd ? (T)1 : b;                                                             \
    const T q = (T)(a / d);                                                                 \
    const T down = (T)(q - ((a % d != 0) && ((a < 0) != (d < 0)) ? 1 : 0));                 \
    return b == 0 ? (T)0 : ((U)b == (U)(-1) ? fb_neg(a) : down);                            \
  }                                                                                         \
  FB_FN T fb_remainder(T a, T b) {                                                          \
    const bool odd = b == 0 || (U)b == (U)(-1);                                             \
    const T d = odd ? (T)1 : b;                                                             \
    const T r = (T)(a % d);                                                                 \
    return (T)(r + (r != 0 && ((r < 0) != (d < 0)) ? d : (T)0));                            \
  }
FB_DIVIDE(long long, unsigned long long)
FB_DIVIDE(int, unsigned)
FB_FN unsigned char fb_floor_div(unsigned char a, unsigned char b) {
  return (unsigned char)(b == 0 ? 0 : a / (b == 0 ? 1 : b));
}
FB_FN unsigned char fb_remainder(unsigned char a, unsigned char b) {
  return (unsigned char)(b == 0 ? 0 : a % (b == 0 ? 1 : b));
}

// The sign of NaN is NaN, of a zero that zero.
#define FB_REAL(T, BITS, VALUE)                                                            \
  FB_FN T fb_neg(T a) { return -a; }                                                       \
  FB_FN T fb_abs(T a) { return VALUE(BITS(a) & (BITS((T)(-0.0)) - 1)); }                   \
  FB_FN T fb_sign(T a) { return a > 0 ? (T)1 : (a < 0 ? (T)(-1) : a); }                    \
  FB_FN T fb_relu(T a) { return a > 0 || a != a ? a : (T)0; }                              \
  FB_FN T fb_add(T a, T b) { return a + b; }                                               \
  FB_FN T fb_sub(T a, T b) { return a - b; }                                               \
  FB_FN T fb_mul(T a, T b) { return a * b; }
FB_REAL(double, FB_BITS64, FB_DOUBLE)
FB_REAL(float, FB_BITS, FB_FLOAT)

// min and max: NaN wins, and -0 is below +0, so that equal values differ in the sign of zero only.
#define FB_EXTREMES(T, BITS, VALUE)                                        \
  FB_FN T fb_min(T a, T b) {                                               \
    return a == b ? VALUE(BITS(a) | BITS(b)) : (a < b || a != a ? a : b);  \
  }                                                                        \
  FB_FN T fb_max(T a, T b) {                                               \
    return a == b ? VALUE(BITS(a) & BITS(b)) : (a > b || a != a ? a : b);  \
  }
FB_EXTREMES(double, FB_BITS64, FB_DOUBLE)
#if defined(FB_MIN)
FB_FN float fb_min(float a, float b) { return FB_MIN(a, b); }
FB_FN float fb_max(float a, float b) { return FB_MAX(a, b); }
#else
FB_EXTREMES(float, FB_BITS, FB_FLOAT)
#endif
FB_FN double fb_div(double a, double b) { return a / b; }
FB_FN float fb_div(float a, float b) { return FB_DIV(a, b); }
FB_FN double fb_sqrt(double a) { return FB_SQRT64(a); }
FB_FN float fb_sqrt(float a) { return FB_SQRT(a); }

FB_FN double fb_fma(double a, double b, double c) { return FB_FMA64(a, b, c); }
FB_FN float fb_fma(float a, float b, float c) { return FB_FMA(a, b, c); }
FB_FN double fb_rsqrt(double a) { return 1.0 / FB_SQRT64(a); }
FB_FN float fb_rsqrt(float a) { return FB_DIV(1.0F, FB_SQRT(a)); }
FB_FN double fb_floor(double a) { return FB_FLOOR64(a); }
FB_FN float fb_floor(float a) { return FB_FLOOR(a); }
FB_FN double fb_ceil(double a) { return FB_CEIL64(a); }
FB_FN float fb_ceil(float a) { return FB_CEIL(a); }
FB_FN double fb_trunc(double a) { return FB_TRUNC64(a); }
FB_FN float fb_trunc(float a) { return FB_TRUNC(a); }
FB_FN double fb_round(double a) { return FB_ROUND64(a); }
FB_FN float fb_round(float a) { return FB_ROUND(a); }

// The same rule for reals, as Python computes it; over 0 the quotient is that of IEEE 754.
#define FB_DIVIDE_REAL(T, FMOD, FLOOR, BITS, VALUE)                                    \
  FB_FN T fb_remainder(T a, T b) {                                                     \
    const T r = FMOD(a, b);                                                            \
    const T zero = VALUE(BITS(b) & BITS((T)(-0.0)));                                   \
    return r == 0 ? zero : ((r < 0) != (b < 0) ? r + b : r);                           \
  }                                                                                    \
  FB_FN T fb_floor_div(T a, T b) {                                                     \
    const T r = FMOD(a, b);                                                            \
    const T q = fb_div(a - r, b) - (T)(r != 0 && ((r < 0) != (b < 0)) ? 1 : 0);        \
    const T down = FLOOR(q);                                                           \
    const T near = q - down > (T)0.5 ? down + (T)1 : down;                             \
    const T zero = VALUE((BITS(a) ^ BITS(b)) & BITS((T)(-0.0)));                       \
    return b == 0 ? fb_div(a, b) : (q == 0 ? zero : near);                             \
  }
FB_DIVIDE_REAL(double, FB_FMOD64, FB_FLOOR64, FB_BITS64, FB_DOUBLE)
FB_DIVIDE_REAL(float, FB_FMOD, FB_FLOOR, FB_BITS, FB_FLOAT)

#define FB_TEST(T, BITS, INFINITE)                                                            \
  FB_FN bool fb_isnan(T a) { return a != a; }                                                 \
  FB_FN bool fb_isinf(T a) { return (BITS(a) & (BITS((T)(-0.0)) - 1)) == INFINITE; }          \
  FB_FN bool fb_isfinite(T a) { return (BITS(a) & (BITS((T)(-0.0)) - 1)) < INFINITE; }
FB_TEST(double, FB_BITS64, 0x7ff0000000000000ULL)
FB_TEST(float, FB_BITS, 0x7f800000U)

#define FB_CLAMP(T) \
  FB_FN T fb_clamp(T a, T low, T high) { return fb_min(fb_max(a, low), high); }
FB_CLAMP(double)
FB_CLAMP(float)
FB_CLAMP(long long)
FB_CLAMP(int)
FB_CLAMP(unsigned char)

#define FB_COMPARE(T)                                        \
  FB_FN bool fb_equal(T a, T b) { return a == b; }           \
  FB_FN bool fb_not_equal(T a, T b) { return a != b; }       \
  FB_FN bool fb_less(T a, T b) { return a < b; }             \
  FB_FN bool fb_less_equal(T a, T b) { return a <= b; }      \
  FB_FN bool fb_greater(T a, T b) { return a > b; }          \
  FB_FN bool fb_greater_equal(T a, T b) { return a >= b; }
FB_COMPARE(double)
FB_COMPARE(float)
FB_COMPARE(long long)
FB_COMPARE(int)
FB_COMPARE(unsigned char)
FB_COMPARE(bool)

#define FB_SELECT(T) \
  FB_FN T fb_select(bool a, T b, T c) { return a ? b : c; }
FB_SELECT(double)
FB_SELECT(float)
FB_SELECT(FbHalf)
FB_SELECT(FbBfloat)
FB_SELECT(long long)
FB_SELECT(int)
FB_SELECT(unsigned char)
FB_SELECT(bool)
