// The CUDA text of Adam's kernel, compiled as C++ for the emulator.
#include "tests/nn/adam_emulated.hpp"

#include <cmath>

#include "tests/compute/cuda/emulator.hpp"

#define __CUDACC_RTC__ 1
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __device__
#define __forceinline__ inline
#define __fsqrt_rn(x) __builtin_sqrtf(x)
#define __fdiv_rn(a, b) ((a) / (b))
#define __dsqrt_rn(x) __builtin_sqrt(x)
#define __float_as_uint(x) __builtin_bit_cast(unsigned, x)
#define __uint_as_float(x) __builtin_bit_cast(float, x)

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

#include "compute/prelude.inl"
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
