// The kernel that writes to views with strides.
#pragma once

#include <cstddef>

#include "forebay/compute/backend.hpp"

namespace forebay::compute {

/// For elements of `bytes` (1, 2, 4 or 8). Parameters: const element* source, element* target, and
/// the layout (strided_copy.inl). Any number of blocks does all of the work.
[[nodiscard]] const CustomKernel& strided_copy_kernel(std::size_t bytes);

}  // namespace forebay::compute
