#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/loops_i32.cpp"
#define FOREBAY_T int
#define FOREBAY_T_DTYPE i32
#define FOREBAY_T_IS_number
#include "compute/host/loops.inl"

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(loops);
std::span<const Loop> loops_i32() noexcept { return HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace forebay::compute::host
#endif
