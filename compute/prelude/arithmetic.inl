// Arithmetic, comparisons and selection. Integers wrap; `U` is the unsigned type of T's width, or a
// wider one.
#define FB_INTEGER(T, U)                                                  \
  FB_FN T fb_neg(T a) { return (T)((U)0 - (U)a); }                        \
  FB_FN T fb_abs(T a) { return a < 0 ? (T)((U)0 - (U)a) : a; }            \
  FB_FN T fb_sign(T a) { return (T)((a > 0 ? 1 : 0) - (a < 0 ? 1 : 0)); } \
  FB_FN T fb_relu(T a) { return a > 0 ? a : (T)0; }                       \
  FB_FN T fb_add(T a, T b) { return (T)((U)a + (U)b); }                   \
  FB_FN T fb_sub(T a, T b) { return (T)((U)a - (U)b); }                   \
  FB_FN T fb_mul(T a, T b) { return (T)((U)a * (U)b); }                   \
  FB_FN T fb_min(T a, T b) { return a < b ? a : b; }                      \
  FB_FN T fb_max(T a, T b) { return a > b ? a : b; }
FB_INTEGER(long long, unsigned long long)
FB_INTEGER(int, unsigned)
FB_INTEGER(unsigned char, unsigned)

FB_FN bool fb_add(bool a, bool b) { return a | b; }
FB_FN bool fb_mul(bool a, bool b) { return a & b; }
FB_FN bool fb_min(bool a, bool b) { return a & b; }
FB_FN bool fb_max(bool a, bool b) { return a | b; }

// min and max: NaN wins, and -0 is below +0, so that equal values differ in the sign of zero only.
// The sign of NaN is NaN, of a zero that zero.
#define FB_REAL(T, BITS, VALUE)                                                            \
  FB_FN T fb_neg(T a) { return -a; }                                                       \
  FB_FN T fb_abs(T a) { return VALUE(BITS(a) & (BITS((T)(-0.0)) - 1)); }                   \
  FB_FN T fb_sign(T a) { return a > 0 ? (T)1 : (a < 0 ? (T)(-1) : a); }                    \
  FB_FN T fb_relu(T a) { return a > 0 || a != a ? a : (T)0; }                              \
  FB_FN T fb_add(T a, T b) { return a + b; }                                               \
  FB_FN T fb_sub(T a, T b) { return a - b; }                                               \
  FB_FN T fb_mul(T a, T b) { return a * b; }                                               \
  FB_FN T fb_min(T a, T b) {                                                               \
    return a == b ? VALUE(BITS(a) | BITS(b)) : (a < b || a != a ? a : b);                  \
  }                                                                                        \
  FB_FN T fb_max(T a, T b) {                                                               \
    return a == b ? VALUE(BITS(a) & BITS(b)) : (a > b || a != a ? a : b);                  \
  }
FB_REAL(double, FB_BITS64, FB_DOUBLE)
FB_REAL(float, FB_BITS, FB_FLOAT)
FB_FN double fb_div(double a, double b) { return a / b; }
FB_FN float fb_div(float a, float b) { return FB_DIV(a, b); }
FB_FN double fb_sqrt(double a) { return FB_SQRT64(a); }
FB_FN float fb_sqrt(float a) { return FB_SQRT(a); }

#define FB_COMPARE(T)                                   \
  FB_FN bool fb_equal(T a, T b) { return a == b; }      \
  FB_FN bool fb_greater(T a, T b) { return a > b; }
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
