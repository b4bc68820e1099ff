// Two operations of a chain in one loop. Both are rounded as they are apart.
#include "compute/host/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/loops_pairs.cpp"
#include "compute/host/loops.inl"

FOREBAY_TARGETS_BEGIN

#include "compute/prelude.inl"

// X for each pair of operations in which a loop over L1 costs more than the operation.
#define FOREBAY_PAIRS(X, T, type) \
  X(add, add, T, type)            \
  X(add, sub, T, type)            \
  X(add, mul, T, type)            \
  X(sub, add, T, type)            \
  X(sub, sub, T, type)            \
  X(sub, mul, T, type)            \
  X(mul, add, T, type)            \
  X(mul, sub, T, type)            \
  X(mul, mul, T, type)
#define FOREBAY_PAIR(first, second, B, C, name, T)                                               \
  FOREBAY_LOOP(first##_##second##_##name, fb_##second(fb_##first(a[i], b[i]), c[i]), Each<T>, B, \
               C, T)
#define FOREBAY_PAIR_LOOPS(first, second, T, type)                   \
  FOREBAY_PAIR(first, second, Each<T>, Each<T>, each_each_##type, T) \
  FOREBAY_PAIR(first, second, Each<T>, Once<T>, each_once_##type, T) \
  FOREBAY_PAIR(first, second, Once<T>, Each<T>, once_each_##type, T) \
  FOREBAY_PAIR(first, second, Once<T>, Once<T>, once_once_##type, T)
#define FOREBAY_PAIR_ROW(first, second, T, type)                                \
  {Op::first,                                                                   \
   Op::second,                                                                  \
   DType::type,                                                                 \
   {{first##_##second##_each_each_##type, first##_##second##_each_once_##type}, \
    {first##_##second##_once_each_##type, first##_##second##_once_once_##type}}},
FOREBAY_PAIRS(FOREBAY_PAIR_LOOPS, float, f32)
FOREBAY_PAIRS(FOREBAY_PAIR_LOOPS, double, f64)

constexpr PairLoop kPairs[] = {FOREBAY_PAIRS(FOREBAY_PAIR_ROW, float, f32)
                                   FOREBAY_PAIRS(FOREBAY_PAIR_ROW, double, f64)};

std::span<const PairLoop> pairs() { return kPairs; }

FOREBAY_TARGETS_END

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(pairs);
std::span<const PairLoop> loops_pairs() noexcept { return HWY_DYNAMIC_DISPATCH(pairs)(); }
}  // namespace forebay::compute::host
#endif
