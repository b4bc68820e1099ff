// The loops of one type, for the file that includes this between
//   #define FOREBAY_T float            the element type
//   #define FOREBAY_T_DTYPE f32        its DType
//   #define FOREBAY_T_IS_real          the kinds that it has: real, integer, number (not boolean)
// and, compiled once, a function that hands out `loops()` of the best instruction set.

#include "compute/host/targets.inl"

// The operands of a loop: an element for each i, or one element for all of them.
FOREBAY_TARGETS_BEGIN
template <typename T>
struct Each {
  const T* elements;
  explicit Each(const void* p) : elements(static_cast<const T*>(p)) {}
  T operator[](std::size_t i) const { return elements[i]; }
};
template <typename T>
struct Once {
  const T element;
  explicit Once(const void* p) : element(*static_cast<const T*>(p)) {}
  T operator[](std::size_t /*i*/) const { return element; }
};
// A boolean in memory may be any byte.
template <>
struct Each<bool> {
  const unsigned char* elements;
  explicit Each(const void* p) : elements(static_cast<const unsigned char*>(p)) {}
  bool operator[](std::size_t i) const { return elements[i] != 0; }
};
template <>
struct Once<bool> {
  const bool element;
  explicit Once(const void* p) : element(*static_cast<const unsigned char*>(p) != 0) {}
  bool operator[](std::size_t /*i*/) const { return element; }
};
FOREBAY_TARGETS_END

// r[i] = call, over operands a, b and c.
#define FOREBAY_LOOP(name, call, A, B, C, R)                                  \
  void name([[maybe_unused]] const void* pa, [[maybe_unused]] const void* pb, \
            [[maybe_unused]] const void* pc, void* out, std::size_t n,        \
            [[maybe_unused]] std::uint64_t index) {                           \
    [[maybe_unused]] const A a(pa);                                           \
    [[maybe_unused]] const B b(pb);                                           \
    [[maybe_unused]] const C c(pc);                                           \
    R* const r = static_cast<R*>(out);                                        \
    FOREBAY_INDEPENDENT for (std::size_t i = 0; i < n; ++i) r[i] = call;      \
  }

// The same over elements of one type.
#define FOREBAY_MAP(name, call, T, R) FOREBAY_LOOP(name, call, Each<T>, Each<T>, Each<T>, R)

#ifdef FOREBAY_T
#define FOREBAY_LOOP_1(op) FOREBAY_MAP(op, fb_##op(a[i]), FOREBAY_T, FOREBAY_T)
#define FOREBAY_LOOP_2_TO(op, R)                                                                  \
  FOREBAY_MAP(op, fb_##op(a[i], b[i]), FOREBAY_T, R)                                              \
  FOREBAY_LOOP(once_##op, fb_##op(a[i], b[i]), Once<FOREBAY_T>, Each<FOREBAY_T>, Each<FOREBAY_T>, \
               R)                                                                                 \
  FOREBAY_LOOP(op##_once, fb_##op(a[i], b[i]), Each<FOREBAY_T>, Once<FOREBAY_T>, Each<FOREBAY_T>, R)
#define FOREBAY_LOOP_2(op) FOREBAY_LOOP_2_TO(op, FOREBAY_T)
#define FOREBAY_LOOP_3(op) FOREBAY_MAP(op, fb_##op(a[i], b[i], c[i]), FOREBAY_T, FOREBAY_T)
#define FOREBAY_ROW(op) {Op::op, DType::FOREBAY_T_DTYPE, DType::FOREBAY_T_DTYPE, op},
#define FOREBAY_TRUTH(op) {Op::op, DType::FOREBAY_T_DTYPE, DType::boolean, op},
#define FOREBAY_ROW_2_TO(op, result) \
  {Op::op, DType::FOREBAY_T_DTYPE, DType::result, op, once_##op, op##_once},
#define FOREBAY_ROW_2(op) FOREBAY_ROW_2_TO(op, FOREBAY_T_DTYPE)

#define FOREBAY_LOOP_any_2(op) FOREBAY_LOOP_2(op)
#define FOREBAY_ROW_any_2(op) FOREBAY_ROW_2(op)
#define FOREBAY_LOOP_compare(op) FOREBAY_LOOP_2_TO(op, bool)
#define FOREBAY_ROW_compare(op) FOREBAY_ROW_2_TO(op, boolean)
#define FOREBAY_LOOP_choose(op)                                                    \
  FOREBAY_LOOP(op, masked(a[i] != 0, b[i], c[i]), Each<unsigned char>, Each<FOREBAY_T>, \
               Each<FOREBAY_T>, FOREBAY_T)
#define FOREBAY_ROW_choose(op) {Op::op, DType::boolean, DType::FOREBAY_T_DTYPE, op},

#ifdef FOREBAY_T_IS_number
#define FOREBAY_LOOP_number_1(op) FOREBAY_LOOP_1(op)
#define FOREBAY_LOOP_number_2(op) FOREBAY_LOOP_2(op)
#define FOREBAY_LOOP_number_3(op) FOREBAY_LOOP_3(op)
#define FOREBAY_ROW_number_1(op) FOREBAY_ROW(op)
#define FOREBAY_ROW_number_2(op) FOREBAY_ROW_2(op)
#define FOREBAY_ROW_number_3(op) FOREBAY_ROW(op)
#else
#define FOREBAY_LOOP_number_1(op)
#define FOREBAY_LOOP_number_2(op)
#define FOREBAY_LOOP_number_3(op)
#define FOREBAY_ROW_number_1(op)
#define FOREBAY_ROW_number_2(op)
#define FOREBAY_ROW_number_3(op)
#endif

#ifdef FOREBAY_T_IS_real
// Angles that are far do not vectorise: where there is one, all go one by one.
#define FOREBAY_LOOP_real_1(op)                                                                   \
  FOREBAY_MAP(near_##op, fb_##op(a[i]), FOREBAY_T, FOREBAY_T)                                     \
  void op(const void* a, const void* b, const void* c, void* out, std::size_t n,                  \
          std::uint64_t index) {                                                                  \
    if constexpr (Op::op == Op::sin || Op::op == Op::cos || Op::op == Op::tan) {                  \
      if (any_far(static_cast<const FOREBAY_T*>(a), n)) return turn_each<Op::op>(a, out, n);      \
    }                                                                                             \
    near_##op(a, b, c, out, n, index);                                                            \
  }
#define FOREBAY_LOOP_real_2(op) FOREBAY_LOOP_2(op)
#define FOREBAY_LOOP_test(op) FOREBAY_MAP(op, fb_##op(a[i]), FOREBAY_T, bool)
#define FOREBAY_LOOP_bits_1(op)
#define FOREBAY_LOOP_bits_2(op)
#define FOREBAY_ROW_real_1(op) FOREBAY_ROW(op)
#define FOREBAY_ROW_real_2(op) FOREBAY_ROW_2(op)
#define FOREBAY_ROW_test(op) FOREBAY_TRUTH(op)
#define FOREBAY_ROW_bits_1(op)
#define FOREBAY_ROW_bits_2(op)
#else
#define FOREBAY_LOOP_real_1(op)
#define FOREBAY_LOOP_real_2(op)
#define FOREBAY_LOOP_test(op)
#define FOREBAY_LOOP_bits_1(op) FOREBAY_LOOP_1(op)
#define FOREBAY_LOOP_bits_2(op) FOREBAY_LOOP_2(op)
#define FOREBAY_ROW_real_1(op)
#define FOREBAY_ROW_real_2(op)
#define FOREBAY_ROW_test(op)
#define FOREBAY_ROW_bits_1(op) FOREBAY_ROW(op)
#define FOREBAY_ROW_bits_2(op) FOREBAY_ROW_2(op)
#endif

// Casts and random numbers have a file of their own.
#define FOREBAY_LOOP_cast(op)
#define FOREBAY_ROW_cast(op)
#define FOREBAY_LOOP_draw_32(op)
#define FOREBAY_ROW_draw_32(op)
#define FOREBAY_LOOP_draw_64(op)
#define FOREBAY_ROW_draw_64(op)

FOREBAY_TARGETS_BEGIN

#undef FB_NEAR_TURNS
#define FB_NEAR_TURNS
#include "compute/prelude.inl"
#undef FB_NEAR_TURNS

#ifdef FOREBAY_T_IS_real
bool any_far(const FOREBAY_T* a, std::size_t n) {
  unsigned far = 0;
  FOREBAY_INDEPENDENT for (std::size_t i = 0; i < n; ++i) far |= fb_is_far(a[i]) ? 1U : 0U;
  return far != 0;
}
template <Op kOp>
void turn_each(const void* pa, void* out, std::size_t n) {
  const Each<FOREBAY_T> a(pa);
  FOREBAY_T* const r = static_cast<FOREBAY_T*>(out);
  for (std::size_t i = 0; i < n; ++i) {
    const FbTurn turn = fb_any_turn(a[i]);
    r[i] = static_cast<FOREBAY_T>(kOp == Op::sin   ? fb_sin_of(turn)
                                  : kOp == Op::cos ? fb_cos_of(turn)
                                                   : fb_tan_of(turn));
  }
}
#endif

// a ? b : c by bits, for a condition of 0 or 1: a choice by conditions of another size than the
// numbers would be made one by one.
[[gnu::always_inline]] inline FOREBAY_T masked(unsigned char a, FOREBAY_T b, FOREBAY_T c) {
  using Bits =
      std::conditional_t<sizeof(FOREBAY_T) == 8, std::uint64_t,
                         std::conditional_t<sizeof(FOREBAY_T) == 4, std::uint32_t, std::uint8_t>>;
  const auto mask = static_cast<Bits>(Bits{0} - static_cast<Bits>(a));
  return std::bit_cast<FOREBAY_T>(
      static_cast<Bits>((std::bit_cast<Bits>(b) & mask) | (std::bit_cast<Bits>(c) & ~mask)));
}

#define FOREBAY_OP(name, operands, kind) FOREBAY_LOOP_##kind(name)
FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP

constexpr Loop kLoops[] = {
#define FOREBAY_OP(name, operands, kind) FOREBAY_ROW_##kind(name)
    FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
};

std::span<const Loop> loops() { return kLoops; }

FOREBAY_TARGETS_END
#endif
