#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#define FOREBAY_T unsigned char
#define FOREBAY_T_DTYPE u8
#define FOREBAY_T_IS_number
#include "compute/host/loops.inl"

namespace forebay::compute::host {
std::span<const Loop> loops_u8() noexcept { return kLoops; }
}  // namespace forebay::compute::host
