#include "compute/cuda/convert.hpp"

#include <cstdint>
#include <cstring>

#include "compute/prelude.inl"

// Compiled for several instruction sets, of which the machine's best is taken when the program
// starts. The sanitizers cannot follow code that runs so early.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOREBAY_SIMD __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define FOREBAY_SIMD
#endif

namespace forebay::cuda {
namespace {

FOREBAY_SIMD void to_f32(const std::int32_t* __restrict source, float* __restrict target,
                         std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) target[i] = static_cast<float>(source[i]);
}

FOREBAY_SIMD void to_i32(const float* __restrict source, std::int32_t* __restrict target,
                         std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) target[i] = fb_to_i32(source[i]);
}

}  // namespace

void convert(const void* source, DType source_type, void* target, DType target_type,
             std::size_t count) noexcept {
  if (count == 0) return;
  if (source_type == target_type) {
    std::memcpy(target, source, count * size_of(source_type));
  } else if (target_type == DType::f32) {
    to_f32(static_cast<const std::int32_t*>(source), static_cast<float*>(target), count);
  } else {
    to_i32(static_cast<const float*>(source), static_cast<std::int32_t*>(target), count);
  }
}

}  // namespace forebay::cuda
