#include <bit>
#include <type_traits>

#include "compute/host/kernels.hpp"

#define FOREBAY_T double
#define FOREBAY_T_DTYPE f64
#define FOREBAY_T_IS_number
#define FOREBAY_T_IS_real
#include "compute/host/loops.inl"

namespace forebay::compute::host {
std::span<const Loop> loops_f64() noexcept { return kLoops; }
}  // namespace forebay::compute::host
