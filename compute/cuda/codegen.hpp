// CUDA C++ for a program: one kernel, no include, contraction off.
#pragma once

#include <cstdint>
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
/// The same program gives the same text on every machine, and sizes never enter it. With
/// `staged` leaves (bit k: leaf k) the kernel walks by tiles (tile_plan.hpp).
[[nodiscard]] std::string generate_kernel(const compute::Program& program,
                                          std::uint32_t staged = 0);

}  // namespace forebay::cuda
