// Every operation on every type, over slots: the table is that of compute/op.hpp. Functions that
// all typed kernels call, since their code is long; what it takes to be called is shared by the
// elements.

// A slot's place in shared memory, or the bits of a scalar where that is negative.
struct FbOperand {
  unsigned long long bits;
  int at;
};

// Places of an element in values of one slot and of two.
struct FbElement {
  unsigned word, wide;
};

template <typename T>
FB_FN T fb_get(const FbOperand& operand, const FbElement& element) {
  unsigned long long bits = operand.bits;
  if (operand.at >= 0) {
    const unsigned char* const slot = fb_dynamic_shared() + operand.at;
    if constexpr (sizeof(T) == 8) {
      bits = *(const unsigned long long*)(slot + element.wide);
    } else {
      bits = *(const unsigned*)(slot + element.word);
    }
  }
  return fb_value<T>(bits);
}
FB_FN void fb_put(unsigned at, const FbElement& element, unsigned word) {
  *(unsigned*)(fb_dynamic_shared() + at + element.word) = word;
}
FB_FN void fb_put(unsigned at, const FbElement& element, unsigned long long words) {
  *(unsigned long long*)(fb_dynamic_shared() + at + element.wide) = words;
}

// In order, so that a result may take the place of an operand with as many slots.
#define FB_LOOP(name, type, ...)                                                 \
  case FB_GENERAL(name, type):                                                   \
    if constexpr (kWide == (sizeof(fb_##type) == 8)) {                           \
      _Pragma("unroll 1") for (unsigned n = 0; n < elements; ++n) {              \
        const FbElement e{n / 4 * pitch + n % 4 * 4, n / 2 * pitch + n % 2 * 8}; \
        fb_put(result, e, fb_word(fb_##name(__VA_ARGS__)));                      \
      }                                                                          \
    }                                                                            \
    break;
#define FB_1(name, type) FB_LOOP(name, type, fb_get<fb_##type>(a, e))
#define FB_2(name, type) FB_LOOP(name, type, fb_get<fb_##type>(a, e), fb_get<fb_##type>(b, e))
#define FB_3(name, type) \
  FB_LOOP(name, type, fb_get<fb_##type>(a, e), fb_get<fb_##type>(b, e), fb_get<fb_##type>(c, e))
// By the width of what is chosen from.
#define FB_CHOOSE(name, type) \
  FB_LOOP(name, type, fb_get<bool>(a, e), fb_get<fb_##type>(b, e), fb_get<fb_##type>(c, e))
// c are the indices.
#define FB_DRAW(name)                                      \
  FB_LOOP(name, i32, fb_get<int>(a, e), fb_get<int>(b, e), \
          (unsigned long long)fb_get<long long>(c, e))

#define FB_OF_REALS(X, name) X(name, f64) X(name, f32)
#define FB_OF_WHOLE(X, name) X(name, i64) X(name, i32) X(name, u8)
#define FB_OF_NUMBERS(X, name) FB_OF_REALS(X, name) FB_OF_WHOLE(X, name)
#define FB_OF_ALL(X, name) FB_OF_NUMBERS(X, name) X(name, boolean)
#define FB_OF_BITS(X, name) FB_OF_WHOLE(X, name) X(name, boolean)
// The kinds of compute/op.hpp.
#define FB_KIND_number_1(name) FB_OF_NUMBERS(FB_1, name)
#define FB_KIND_number_2(name) FB_OF_NUMBERS(FB_2, name)
#define FB_KIND_number_3(name) FB_OF_NUMBERS(FB_3, name)
#define FB_KIND_any_2(name) FB_OF_ALL(FB_2, name)
#define FB_KIND_real_1(name) FB_OF_REALS(FB_1, name)
#define FB_KIND_real_2(name) FB_OF_REALS(FB_2, name)
#define FB_KIND_test(name) FB_OF_REALS(FB_1, name)
#define FB_KIND_cast(name) FB_OF_ALL(FB_1, name)
#define FB_KIND_compare(name) FB_OF_ALL(FB_2, name)
#define FB_KIND_bits_1(name) FB_OF_BITS(FB_1, name)
#define FB_KIND_bits_2(name) FB_OF_BITS(FB_2, name)
#define FB_KIND_choose(name) FB_CHOOSE(name, i64) FB_CHOOSE(name, i32)
#define FB_KIND_draw_32(name) FB_DRAW(name)
#define FB_KIND_draw_64(name) FB_DRAW(name)
#define FB_CASES(name, operands, kind) FB_KIND_##kind(name)

// Those on types of two slots, and the others, which need fewer registers.
template <bool kWide>
FB_FN_SHARED void fb_general(unsigned code, unsigned elements, unsigned pitch, unsigned result,
                             FbOperand a, FbOperand b, FbOperand c) {
  switch (code) { FOREBAY_ELEMENTWISE_OPS(FB_CASES) }
}

// A value of two slots to an output.
template <int N, typename Place>
FB_FN void fb_store_wide(const FbBuffer& out, const FbOperand& value, const FbSlots<N>& slots,
                         const Place& place) {
  unsigned long long* const first = (unsigned long long*)out.address;
  if (out.packed && value.at >= 0 && place.whole()) {
#pragma unroll 2
    for (unsigned e = 0; e < N; e += 2) {
      *(FbQuad*)(first + place.index(e)) =
          *(const FbQuad*)(fb_dynamic_shared() + value.at + e / 2 * slots.pitch());
    }
    return;
  }
#pragma unroll 1
  for (unsigned e = 0; e < N; e += 2) {
    const unsigned low = (unsigned)value.bits, high = (unsigned)(value.bits >> 32);
    FbQuad two{{low, high, low, high}};
    if (value.at >= 0)
      two = *(const FbQuad*)(fb_dynamic_shared() + value.at + e / 2 * slots.pitch());
    if (out.packed && place.inside(e + 1)) {
      *(FbQuad*)(first + place.index(e)) = two;
      continue;
    }
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      if (place.inside(e + n)) {
        *(FbTwo*)(first + place.index(e + n)) = FbTwo{{two.w[2 * n], two.w[2 * n + 1]}};
      }
    }
  }
}
