// The kernel behind index_select and gather.
#pragma once

#include <cstddef>

#include "forebay/compute/backend.hpp"

namespace forebay::compute {

/// For elements of `bytes` (1, 2, 4 or 8). Parameters: const element* x, const long long* index,
/// element* out, and the layout (gather.inl).
[[nodiscard]] const CustomKernel& gather_kernel(std::size_t bytes);

}  // namespace forebay::compute
