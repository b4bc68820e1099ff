#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/loops_f64.cpp"
#define FOREBAY_T double
#define FOREBAY_T_DTYPE f64
#define FOREBAY_T_IS_number
#define FOREBAY_T_IS_real
#include "compute/host/loops.inl"

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(loops);
std::span<const Loop> loops_f64() noexcept { return HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace forebay::compute::host
#endif
