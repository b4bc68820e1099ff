#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/loops_boolean.cpp"
#define FOREBAY_T bool
#define FOREBAY_T_DTYPE boolean
#include "compute/host/loops.inl"

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(loops);
std::span<const Loop> loops_boolean() noexcept { return HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace forebay::compute::host
#endif
