// The interpreter kernels as nvcc compiled them: a fat binary inside the library.
#pragma once

#include <cstddef>
#include <span>

namespace forebay::cuda {

/// What cuModuleLoadData takes; empty in a build without nvcc.
[[nodiscard]] std::span<const std::byte> interpreter_image() noexcept;

}  // namespace forebay::cuda
