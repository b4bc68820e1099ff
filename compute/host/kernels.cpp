#include "compute/host/kernels.hpp"

// One body, compiled for several instruction sets and chosen when the program starts; contraction
// is off, so that all give the same bits. Sanitizers run before ifunc resolvers may be called.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOREBAY_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOREBAY_CLONES
#endif

namespace forebay::compute::host {
namespace {

#include "compute/prelude.inl"

using Index = std::uint64_t;

#define FOREBAY_KERNEL(name, op, expression, A, B, C, R)                                     \
  FOREBAY_CLONES void name([[maybe_unused]] const void* pa, [[maybe_unused]] const void* pb, \
                           [[maybe_unused]] const void* pc, void* out, std::size_t n,        \
                           [[maybe_unused]] Index index) {                                   \
    [[maybe_unused]] const A* const a = static_cast<const A*>(pa);                           \
    [[maybe_unused]] const B* const b = static_cast<const B*>(pb);                           \
    [[maybe_unused]] const C* const c = static_cast<const C*>(pc);                           \
    R* const r = static_cast<R*>(out);                                                       \
    _Pragma("GCC ivdep") for (std::size_t i = 0; i < n; ++i) r[i] = fb_##op expression;      \
  }
#define FOREBAY_UNARY(op, A, R) FOREBAY_KERNEL(op##_##A, op, (a[i]), A, A, A, R)
#define FOREBAY_BINARY(op, T) FOREBAY_KERNEL(op##_##T, op, (a[i], b[i]), T, T, T, T)
#define FOREBAY_SELECT(A, T) \
  FOREBAY_KERNEL(select_##A##_##T, select, (a[i], b[i], c[i]), A, T, T, T)
#define FOREBAY_RANDOM(op) \
  FOREBAY_KERNEL(op##_int, op, (a[i], b[i], index + i), int, int, int, float)

FOREBAY_UNARY(neg, float, float)
FOREBAY_UNARY(neg, int, int)
FOREBAY_UNARY(exp, float, float)
FOREBAY_UNARY(log, float, float)
FOREBAY_UNARY(sqrt, float, float)
FOREBAY_UNARY(relu, float, float)
FOREBAY_UNARY(relu, int, int)
FOREBAY_UNARY(to_f32, int, float)
FOREBAY_UNARY(to_f32, float, float)
FOREBAY_UNARY(to_i32, float, int)
FOREBAY_UNARY(to_i32, int, int)
FOREBAY_BINARY(add, float)
FOREBAY_BINARY(add, int)
FOREBAY_BINARY(sub, float)
FOREBAY_BINARY(sub, int)
FOREBAY_BINARY(mul, float)
FOREBAY_BINARY(mul, int)
FOREBAY_BINARY(div, float)
FOREBAY_BINARY(min, float)
FOREBAY_BINARY(min, int)
FOREBAY_BINARY(max, float)
FOREBAY_BINARY(max, int)
FOREBAY_BINARY(greater, float)
FOREBAY_BINARY(greater, int)
FOREBAY_BINARY(equal, float)
FOREBAY_BINARY(equal, int)
FOREBAY_SELECT(float, float)
FOREBAY_SELECT(float, int)
FOREBAY_SELECT(int, float)
FOREBAY_SELECT(int, int)
FOREBAY_RANDOM(random_uniform)
FOREBAY_RANDOM(random_normal)

struct Entry {
  Op op;
  DType a;
  DType result;
  Kernel kernel;
};

constexpr DType kFloat = DType::f32;
constexpr DType kInt = DType::i32;

const Entry kEntries[] = {
    {Op::neg, kFloat, kFloat, neg_float},
    {Op::neg, kInt, kInt, neg_int},
    {Op::exp, kFloat, kFloat, exp_float},
    {Op::log, kFloat, kFloat, log_float},
    {Op::sqrt, kFloat, kFloat, sqrt_float},
    {Op::relu, kFloat, kFloat, relu_float},
    {Op::relu, kInt, kInt, relu_int},
    {Op::to_f32, kInt, kFloat, to_f32_int},
    {Op::to_f32, kFloat, kFloat, to_f32_float},
    {Op::to_i32, kFloat, kInt, to_i32_float},
    {Op::to_i32, kInt, kInt, to_i32_int},
    {Op::add, kFloat, kFloat, add_float},
    {Op::add, kInt, kInt, add_int},
    {Op::sub, kFloat, kFloat, sub_float},
    {Op::sub, kInt, kInt, sub_int},
    {Op::mul, kFloat, kFloat, mul_float},
    {Op::mul, kInt, kInt, mul_int},
    {Op::div, kFloat, kFloat, div_float},
    {Op::min, kFloat, kFloat, min_float},
    {Op::min, kInt, kInt, min_int},
    {Op::max, kFloat, kFloat, max_float},
    {Op::max, kInt, kInt, max_int},
    {Op::greater, kFloat, kFloat, greater_float},
    {Op::greater, kInt, kInt, greater_int},
    {Op::equal, kFloat, kFloat, equal_float},
    {Op::equal, kInt, kInt, equal_int},
    {Op::select, kFloat, kFloat, select_float_float},
    {Op::select, kFloat, kInt, select_float_int},
    {Op::select, kInt, kFloat, select_int_float},
    {Op::select, kInt, kInt, select_int_int},
    {Op::random_uniform, kInt, kFloat, random_uniform_int},
    {Op::random_normal, kInt, kFloat, random_normal_int},
};

// Sixteen lanes of an element type; four of them hide the latency of an addition.
template <typename T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
};

template <typename T>
[[gnu::always_inline]] inline T lane_sum(const T* x, std::size_t n) noexcept {
  using Vector = typename Lanes<T>::Vector;
  constexpr std::size_t kWidth = 16;
  if (n < kWidth) {
    T in_order{};
    for (std::size_t i = 0; i < n; ++i) in_order += x[i];
    return in_order;
  }
  Vector s0{}, s1{}, s2{}, s3{};
  std::size_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    const auto* const v = reinterpret_cast<const Vector*>(x + i);
    s0 += v[0];
    s1 += v[1];
    s2 += v[2];
    s3 += v[3];
  }
  alignas(64) T lanes[4 * kWidth];
  auto* const v = reinterpret_cast<Vector*>(lanes);
  v[0] = s0;
  v[1] = s1;
  v[2] = s2;
  v[3] = s3;
  for (std::size_t j = 0; i + j < n; ++j) lanes[j] += x[i + j];
  for (std::size_t width = 2 * kWidth; width != 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

}  // namespace

Kernel find_kernel(Op op, DType a, DType result) noexcept {
  for (const Entry& entry : kEntries) {
    if (entry.op == op && entry.a == a && entry.result == result) return entry.kernel;
  }
  return nullptr;
}

FOREBAY_CLONES float sum(const float* x, std::size_t n) noexcept { return lane_sum(x, n); }
FOREBAY_CLONES std::uint32_t sum(const std::uint32_t* x, std::size_t n) noexcept {
  return lane_sum(x, n);
}

FOREBAY_CLONES void accumulate(double* sums, const float* x, std::size_t n) noexcept {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) sums[i] += static_cast<double>(x[i]);
}
FOREBAY_CLONES void accumulate(std::uint32_t* sums, const std::uint32_t* x,
                               std::size_t n) noexcept {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) sums[i] += x[i];
}

}  // namespace forebay::compute::host
