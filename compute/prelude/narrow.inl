// f16 and bf16: computed in f32, rounded after each operation.
#define FB_NARROW_1(op)                                                      \
  FB_FN FbHalf op(FbHalf a) { return fb_round_f16(op(fb_to_f32(a))); }       \
  FB_FN FbBfloat op(FbBfloat a) { return fb_round_bf16(op(fb_to_f32(a))); }
#define FB_NARROW_2(op)                                                                           \
  FB_FN FbHalf op(FbHalf a, FbHalf b) { return fb_round_f16(op(fb_to_f32(a), fb_to_f32(b))); }    \
  FB_FN FbBfloat op(FbBfloat a, FbBfloat b) {                                                     \
    return fb_round_bf16(op(fb_to_f32(a), fb_to_f32(b)));                                         \
  }
#define FB_NARROW_COMPARE(op)                                                         \
  FB_FN bool op(FbHalf a, FbHalf b) { return op(fb_to_f32(a), fb_to_f32(b)); }        \
  FB_FN bool op(FbBfloat a, FbBfloat b) { return op(fb_to_f32(a), fb_to_f32(b)); }
FB_NARROW_1(fb_neg)
FB_NARROW_1(fb_abs)
FB_NARROW_1(fb_sign)
FB_NARROW_1(fb_relu)
FB_NARROW_1(fb_exp)
FB_NARROW_1(fb_log)
FB_NARROW_1(fb_sqrt)
FB_NARROW_2(fb_add)
FB_NARROW_2(fb_mul)
FB_NARROW_2(fb_min)
FB_NARROW_2(fb_max)
FB_NARROW_2(fb_sub)
FB_NARROW_2(fb_div)
FB_NARROW_COMPARE(fb_equal)
FB_NARROW_COMPARE(fb_greater)
