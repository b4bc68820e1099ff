#include "compute/host/reducers.hpp"

#include <array>
#include <limits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/reducers.cpp"
#include "compute/host/targets.inl"

FOREBAY_TARGETS_BEGIN

#include "compute/prelude.inl"

// Lanes [0, 2 * half) into lane 0, by halves.
template <std::size_t half, typename T>
[[gnu::always_inline]] inline void fold_lanes(T* lanes) noexcept {
  for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  if constexpr (half > 1) fold_lanes<half / 2>(lanes);
}

// 256 bytes of lanes, in as many registers as the set needs: as one vector of 64 bytes, which not
// every set has, the compiler would keep them in memory.
template <typename T, std::size_t... k>
[[gnu::always_inline]] inline T lane_sum(const T* x, std::size_t n,
                                         std::index_sequence<k...> /*registers*/) noexcept {
  constexpr std::size_t kBytes = 256 / sizeof...(k);
  constexpr std::size_t kLanes = 256 / sizeof(T);
  typedef T Vector __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));
  Vector sums[] = {(static_cast<void>(k), Vector{})...};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto* const v = reinterpret_cast<const Vector*>(x + i);
    ((sums[k] += v[k]), ...);
  }
  alignas(64) T lanes[kLanes];
  ((reinterpret_cast<Vector*>(lanes)[k] = sums[k]), ...);
  for (std::size_t j = 0; i + j < n; ++j) lanes[j] += x[i + j];
  fold_lanes<kLanes / 2>(lanes);
  return lanes[0];
}
template <typename T>
[[gnu::always_inline]] inline T lane_sum(const T* x, std::size_t n) noexcept {
  constexpr std::size_t kRegister = HWY_MAX_BYTES == 32 || HWY_MAX_BYTES == 64 ? HWY_MAX_BYTES : 16;
  return lane_sum(x, n, std::make_index_sequence<256 / kRegister>());
}

// Integers in any order: they wrap.
template <typename T>
[[gnu::always_inline]] inline long long whole_sum(const T* x, std::size_t n) noexcept {
  unsigned long long sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<unsigned long long>(x[i]);
  return static_cast<long long>(sum);
}
// Short rows in order, and in f64, since in f32 that many roundings would add up.
template <typename T>
[[gnu::always_inline]] inline double real_sum(const T* x, std::size_t n) noexcept {
  if (n >= 16) return static_cast<double>(lane_sum(x, n));
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}
[[gnu::always_inline]] inline double row_sum(const float* x, std::size_t n) noexcept {
  return real_sum(x, n);
}
[[gnu::always_inline]] inline double row_sum(const double* x, std::size_t n) noexcept {
  return real_sum(x, n);
}
template <typename T>
[[gnu::always_inline]] inline long long row_sum(const T* x, std::size_t n) noexcept {
  return whole_sum(x, n);
}

// Any order gives the same least or largest value, so lanes may be as wide as they like.
template <typename T, typename Join>
[[gnu::always_inline]] inline T lane_extreme(T state, const T* x, std::size_t n,
                                             Join&& join) noexcept {
  constexpr std::size_t kWidth = 64;
  std::size_t i = 0;
  if (n >= kWidth) {
    alignas(64) T lanes[kWidth];
    for (std::size_t j = 0; j < kWidth; ++j) lanes[j] = x[j];
    for (i = kWidth; i + kWidth <= n; i += kWidth) {
      for (std::size_t j = 0; j < kWidth; ++j) lanes[j] = join(lanes[j], x[i + j]);
    }
    for (std::size_t j = 0; j < kWidth; ++j) state = join(state, lanes[j]);
  }
  for (; i < n; ++i) state = join(state, x[i]);
  return state;
}

template <typename T>
constexpr T kHighest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();
template <typename T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();

template <typename State>
void start_with(void* states, std::size_t n, State state) {
  for (std::size_t i = 0; i < n; ++i) static_cast<State*>(states)[i] = state;
}

template <typename E, typename S, typename Join>
[[gnu::always_inline]] inline void join_rows(S* all, const void* const* rows, std::size_t count,
                                             std::size_t n, std::uint64_t first, Join&& join) {
  static_assert(kRowsTogether == 4);
  const auto row = [&](std::size_t r) { return static_cast<const E*>(rows[r]); };
  if (count == kRowsTogether) {
    const E* const x0 = row(0);
    const E* const x1 = row(1);
    const E* const x2 = row(2);
    const E* const x3 = row(3);
    FOREBAY_INDEPENDENT for (std::size_t i = 0; i < n; ++i) {
      const S two = join(join(all[i], x0[i], first), x1[i], first + 1);
      all[i] = join(join(two, x2[i], first + 2), x3[i], first + 3);
    }
    return;
  }
  for (std::size_t r = 0; r < count; ++r) {
    const E* const x = row(r);
    FOREBAY_INDEPENDENT for (std::size_t i = 0; i < n; ++i) {
      all[i] = join(all[i], x[i], first + r);
    }
  }
}

// A reducer `name` of elements E in states of type S: `one` joins state s with value x, `two` joins
// s with the later state o, `whole` joins s with n values of a row.
#define FOREBAY_REDUCER(name, E, S, initial, whole, one, two, indices)                         \
  void start_##name(void* states, std::size_t n) { start_with<S>(states, n, initial); }        \
  void row_##name(void* state, const void* values, std::size_t n,                              \
                  [[maybe_unused]] std::uint64_t index) {                                      \
    S& s = *static_cast<S*>(state);                                                            \
    const E* const v = static_cast<const E*>(values);                                          \
    whole;                                                                                     \
  }                                                                                            \
  void columns_##name(void* states, const void* const* rows, std::size_t count, std::size_t n, \
                      std::uint64_t first) {                                                   \
    join_rows<E>(static_cast<S*>(states), rows, count, n, first,                               \
                 [](S s, E x, [[maybe_unused]] std::uint64_t index) -> S { return one; });     \
  }                                                                                            \
  void join_##name(void* states, const void* other, std::size_t n) {                           \
    for (std::size_t i = 0; i < n; ++i) {                                                      \
      S& s = static_cast<S*>(states)[i];                                                       \
      const S o = static_cast<const S*>(other)[i];                                             \
      s = two;                                                                                 \
    }                                                                                          \
  }                                                                                            \
  constexpr Reducer name{sizeof(S),       &start_##name, &row_##name,                          \
                         &columns_##name, &join_##name,  indices};

// The indices move to the front: index i is written at or before the place of state i.
template <typename T>
void keep_indices(void* states, std::size_t n) {
  auto* const bytes = static_cast<std::byte*>(states);
  for (std::size_t i = 0; i < n; ++i) {
    const long long index = static_cast<const FbBest<T>*>(states)[i].index;
    __builtin_memcpy(bytes + i * sizeof index, &index, sizeof index);
  }
}

#define FOREBAY_BEST(join)                                            \
  for (std::size_t i = 0; i < n; ++i) {                               \
    s = fb_best_##join(s, {v[i], static_cast<long long>(index + i)}); \
  }
#define FOREBAY_REDUCERS(E, name, T)                                                               \
  FOREBAY_REDUCER(sum_##name, E, T, 0, s = fb_add(s, row_sum(v, n)), fb_add(s, static_cast<T>(x)), \
                  fb_add(s, o), nullptr)                                                           \
  FOREBAY_REDUCER(prod_##name, E, T, 1,                                                            \
                  for (std::size_t i = 0; i < n; ++i) s = fb_mul(s, static_cast<T>(v[i])),         \
                  fb_mul(s, static_cast<T>(x)), fb_mul(s, o), nullptr)                             \
  FOREBAY_REDUCER(min_##name, E, E, kHighest<E>,                                                   \
                  s = lane_extreme(s, v, n, [](E a, E b) { return fb_min(a, b); }), fb_min(s, x),  \
                  fb_min(s, o), nullptr)                                                           \
  FOREBAY_REDUCER(max_##name, E, E, kLowest<E>,                                                    \
                  s = lane_extreme(s, v, n, [](E a, E b) { return fb_max(a, b); }), fb_max(s, x),  \
                  fb_max(s, o), nullptr)                                                           \
  FOREBAY_REDUCER(argmin_##name, E, FbBest<E>, (FbBest<E>{kHighest<E>, kLast}), FOREBAY_BEST(min), \
                  fb_best_min(s, {x, static_cast<long long>(index)}), fb_best_min(s, o),           \
                  &keep_indices<E>)                                                                \
  FOREBAY_REDUCER(argmax_##name, E, FbBest<E>, (FbBest<E>{kLowest<E>, kLast}), FOREBAY_BEST(max),  \
                  fb_best_max(s, {x, static_cast<long long>(index)}), fb_best_max(s, o),           \
                  &keep_indices<E>)

constexpr long long kLast = std::numeric_limits<long long>::max();
FOREBAY_REDUCERS(double, f64, double)
FOREBAY_REDUCERS(float, f32, double)
FOREBAY_REDUCERS(long long, i64, long long)
FOREBAY_REDUCERS(int, i32, long long)
FOREBAY_REDUCERS(unsigned char, u8, long long)
FOREBAY_REDUCERS(bool, boolean, long long)

// In the order of the types; blocks hold no narrow ones.
#define FOREBAY_ROW(op) \
  { &op##_f64, &op##_f32, nullptr, nullptr, &op##_i64, &op##_i32, &op##_u8, &op##_boolean }
using Row = std::array<const Reducer*, 8>;
constexpr Row kReducers[] = {Row FOREBAY_ROW(sum),   Row FOREBAY_ROW(sum), Row FOREBAY_ROW(prod),
                             Row FOREBAY_ROW(min),   Row FOREBAY_ROW(max), Row FOREBAY_ROW(argmin),
                             Row FOREBAY_ROW(argmax)};

const Reducer& reducer(ReduceOp op, DType type) {
  return *kReducers[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

FOREBAY_TARGETS_END

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(reducer);
const Reducer& reducer_of(ReduceOp op, DType type) noexcept {
  return HWY_DYNAMIC_DISPATCH(reducer)(op, type);
}
}  // namespace forebay::compute::host
#endif
