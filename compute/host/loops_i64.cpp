#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#define FOREBAY_T long long
#define FOREBAY_T_DTYPE i64
#define FOREBAY_T_IS_number
#include "compute/host/loops.inl"

namespace forebay::compute::host {
std::span<const Loop> loops_i64() noexcept { return kLoops; }
}  // namespace forebay::compute::host
