// What generated kernels find when they are compiled as C++: the blocks of a grid one after the
// other, the threads of a block in turns that change at barriers.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

namespace forebay::test {

struct Index {
  unsigned x = 0;
};
extern Index threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
inline void __threadfence() {}
/// Every thread of a warp calls these.
unsigned __shfl_sync(unsigned mask, unsigned value, unsigned lane);
unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned distance);
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  unsigned result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * n & 7) & 255) << 8 * n;
  }
  return result;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}

/// Runs `thread` for every thread of the grid. Blocks come in an order of their own, so that a
/// result that depends on the order shows; but for the last `waiting` ones, which wait for others
/// and come behind them.
void emulate(unsigned blocks, unsigned threads, const std::function<void()>& thread,
             unsigned waiting = 0);

/// Only those blocks of the grid, in that order: of a map over more than an emulator gets through.
void emulate_some(std::span<const unsigned> chosen, unsigned blocks, unsigned threads,
                  const std::function<void()>& thread);

/// A generated kernel, compiled as C++.
struct EmulatedKernel {
  const char* name;
  void (*thread)(void* arguments);
  unsigned long argument_bytes;
};
/// null if there is none of that name.
const EmulatedKernel* emulated_kernel(const char* name);

}  // namespace forebay::test

#define __global__
#define __shared__ static
#define __launch_bounds__(threads, blocks)
#define __grid_constant__
