#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#define FOREBAY_T bool
#define FOREBAY_T_DTYPE boolean
#include "compute/host/loops.inl"

namespace forebay::compute::host {
std::span<const Loop> loops_boolean() noexcept { return kLoops; }
}  // namespace forebay::compute::host
