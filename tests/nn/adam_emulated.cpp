// The CUDA text of Adam's kernel, compiled as C++ for the emulator.
#include "tests/nn/adam_emulated.hpp"

#include <cmath>

#include "tests/compute/cuda/emulator.hpp"

// The prelude as the host has it: conversions to f16 are an instruction of the GPU otherwise.
namespace forebay::test {
namespace {
#include "compute/prelude.inl"
}  // namespace
}  // namespace forebay::test

#define __CUDACC_RTC__ 1
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __device__
#define __forceinline__ inline
#define __dsqrt_rn(x) __builtin_sqrt(x)

namespace forebay::test {
namespace {

struct alignas(16) float4 {
  float x, y, z, w;
};
float4 __ldcs(const float4* place) { return *place; }
unsigned atomicAdd(unsigned* place, unsigned value) {
  const unsigned old = *place;
  *place += value;
  return old;
}

#include "nn/adam.inl"

}  // namespace

void run_emulated_adam(std::span<void* const> arguments, unsigned blocks) {
  emulate(blocks, 256, [&] {
    fb_adam(*static_cast<const FbAdamRow* const*>(arguments[0]),
            *static_cast<const FbAdamChunk* const*>(arguments[1]),
            *static_cast<const unsigned*>(arguments[2]),
            *static_cast<const float* const*>(arguments[3]),
            *static_cast<FbAdamState* const*>(arguments[4]));
  });
}

}  // namespace forebay::test
