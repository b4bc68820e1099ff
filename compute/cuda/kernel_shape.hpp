// How the kernel of a program is laid out.
#pragma once

#include <cstdint>

#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// Threads of a map's block, at most: small blocks end at different times, so that some load while
/// others compute.
inline constexpr unsigned kMapThreads = 128;

/// Instructions of one element up to which a thread's elements are written out side by side.
inline constexpr unsigned kWideWeight = 40;

/// How the kernel of a program is laid out: decided from the program alone. A thread goes through
/// `passes` batches of `elements` elements; the loads of a batch are in flight together. A map has
/// one batch, or takes its elements one by one; by tiles it has those of a patch, or of a row of
/// one, patch after patch.
struct KernelShape {
  unsigned elements = 4;
  unsigned passes = 1;       ///< more than one keeps the code of a long program small
  unsigned run = 4;          ///< neighbouring elements that a thread takes together
  bool vector = false;       ///< runs as a whole where addresses allow
  unsigned threads = 256;    ///< of a block, at most
  unsigned residents = 1;    ///< blocks that a multiprocessor should hold: it bounds the registers
  std::uint32_t staged = 0;  ///< bit k: leaf k goes through shared memory, tile by tile
  [[nodiscard]] bool tiled() const noexcept { return staged != 0; }
  [[nodiscard]] unsigned per_thread() const noexcept { return elements * passes; }
};
/// With `staged` leaves by tiles (tile_plan.hpp). REQUIRES: may_tile(program), if there are any.
[[nodiscard]] KernelShape kernel_shape(const compute::Program& program, std::uint32_t staged = 0);

}  // namespace forebay::cuda
