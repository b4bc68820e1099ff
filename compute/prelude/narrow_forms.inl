// f16 and bf16: computed in f32, rounded after each operation. Forms for the functions of one
// type's operation; a generated kernel states the ones that it uses.
#define FB_NARROW_1(op)                                                \
  FB_FN FbHalf op(FbHalf a) { return fb_round_f16(op(fb_to_f32(a))); } \
  FB_FN FbBfloat op(FbBfloat a) { return fb_round_bf16(op(fb_to_f32(a))); }
#define FB_NARROW_2(op)                                                                        \
  FB_FN FbHalf op(FbHalf a, FbHalf b) { return fb_round_f16(op(fb_to_f32(a), fb_to_f32(b))); } \
  FB_FN FbBfloat op(FbBfloat a, FbBfloat b) {                                                  \
    return fb_round_bf16(op(fb_to_f32(a), fb_to_f32(b)));                                      \
  }
#define FB_NARROW_3(op)                                                    \
  FB_FN FbHalf op(FbHalf a, FbHalf b, FbHalf c) {                          \
    return fb_round_f16(op(fb_to_f32(a), fb_to_f32(b), fb_to_f32(c)));     \
  }                                                                        \
  FB_FN FbBfloat op(FbBfloat a, FbBfloat b, FbBfloat c) {                  \
    return fb_round_bf16(op(fb_to_f32(a), fb_to_f32(b), fb_to_f32(c)));    \
  }
#define FB_NARROW_TEST(op)                               \
  FB_FN bool op(FbHalf a) { return op(fb_to_f32(a)); }   \
  FB_FN bool op(FbBfloat a) { return op(fb_to_f32(a)); }
#define FB_NARROW_COMPARE(op)                                                  \
  FB_FN bool op(FbHalf a, FbHalf b) { return op(fb_to_f32(a), fb_to_f32(b)); } \
  FB_FN bool op(FbBfloat a, FbBfloat b) { return op(fb_to_f32(a), fb_to_f32(b)); }
