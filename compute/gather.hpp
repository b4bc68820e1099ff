// The kernels behind index_select, gather and arange.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/node.hpp"
#include "forebay/compute/backend.hpp"

namespace forebay::compute {

/// For elements of `bytes` (1, 2, 4 or 8). Parameters: const element* x, const long long* index,
/// element* out, and the layout (gather.inl).
[[nodiscard]] const CustomKernel& gather_kernel(std::size_t bytes);
/// Parameters: long long* out, const long long count.
[[nodiscard]] const CustomKernel& positions_kernel();

/// 0, 1 … `count` - 1 as i64: storage of its own, written by one launch.
[[nodiscard]] NodeRef positions(Engine& engine, std::int64_t count);

}  // namespace forebay::compute
