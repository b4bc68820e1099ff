#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/loops_u8.cpp"
#define FOREBAY_T unsigned char
#define FOREBAY_T_DTYPE u8
#define FOREBAY_T_IS_number
#include "compute/host/loops.inl"

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(loops);
std::span<const Loop> loops_u8() noexcept { return HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace forebay::compute::host
#endif
