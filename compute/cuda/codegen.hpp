// CUDA C++ for a program: one kernel, no include, contraction off.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// Threads of a map's block, at most: small blocks end at different times, so that some load while
/// others compute.
inline constexpr unsigned kMapThreads = 128;

/// How the kernel of a program is laid out: decided from the program alone. A thread goes through
/// `passes` batches of `elements` elements; the loads of a batch are in flight together. A map has
/// one batch, or takes its elements one by one.
struct KernelShape {
  unsigned elements = 4;
  unsigned passes = 1;     ///< more than one keeps the code of a long program small
  unsigned run = 4;        ///< neighbouring elements that a thread takes together
  bool vector = false;     ///< runs as a whole where addresses allow
  unsigned threads = 256;  ///< of a block, at most
  unsigned residents = 1;  ///< blocks that a multiprocessor should hold: it bounds the registers
  [[nodiscard]] unsigned per_thread() const noexcept { return elements * passes; }
};
[[nodiscard]] KernelShape kernel_shape(const compute::Program& program);

/// The name of a program's kernel: forebay_map or forebay_reduce.
[[nodiscard]] const char* kernel_entry(const compute::Program& program) noexcept;

/// `source` with what it needs of the prelude in front, ready for the compiler.
[[nodiscard]] std::string with_prelude(std::string_view source);

/// The whole source, prelude in front; the kernel takes one `struct Args` (kernel_arguments.hpp).
/// The same program gives the same text on every machine, and sizes never enter it.
[[nodiscard]] std::string generate_kernel(const compute::Program& program);

}  // namespace forebay::cuda
