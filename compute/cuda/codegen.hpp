// CUDA C++ for a program: one kernel, no include, contraction off.
#pragma once

#include <string>
#include <string_view>

#include "compute/cuda/kernel_shape.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// The name of a program's kernel: forebay_map or forebay_reduce.
[[nodiscard]] const char* kernel_entry(const compute::Program& program) noexcept;

/// `source` with what it needs of the prelude in front, ready for the compiler.
[[nodiscard]] std::string with_prelude(std::string_view source);

/// The whole source, prelude in front; the kernel takes one `struct Args` (kernel_arguments.hpp).
/// The same program gives the same text on every machine, and sizes never enter it. `tiled`: the
/// kernel that walks by tiles, of a program that may (tile_plan.hpp).
[[nodiscard]] std::string generate_kernel(const compute::Program& program, bool tiled = false);

}  // namespace forebay::cuda
