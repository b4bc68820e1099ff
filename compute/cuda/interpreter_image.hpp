// The interpreter kernels as nvcc compiled them: fat binaries inside the library.
#pragma once

#include <cstddef>
#include <span>

namespace forebay::cuda {

/// What cuModuleLoadData takes; both empty in a build without nvcc.
struct InterpreterImage {
  /// The kernels for light operations on f32 and i32, and the one for most other maps.
  std::span<const std::byte> words;
  std::span<const std::byte> typed;  ///< all others
};
[[nodiscard]] InterpreterImage interpreter_image() noexcept;

}  // namespace forebay::cuda
