// The interpreter kernels: compiled by nvcc when the library is built, with contraction off.
// Unsigned numbers are compared with 0 in functions of every integer type.
#pragma nv_diag_suppress 186
#include "compute/prelude.inl"
#include "compute/cuda/bytecode.inl"
#include "compute/cuda/interpreter.inl"

#define FB_KERNEL(name, work, elements, bytes)                          \
  extern "C" __global__ void __launch_bounds__(256)                     \
      name(const __grid_constant__ FbArguments<bytes> a) {              \
    work<elements>(a);                                                  \
  }
FB_KERNEL(forebay_interpret_map, fb_map, kFbMapElements, kFbSmallBytes)
FB_KERNEL(forebay_interpret_reduce, fb_reduce, kFbElements, kFbSmallBytes)
FB_KERNEL(forebay_interpret_map_large, fb_map, 1, kFbLargeBytes)
FB_KERNEL(forebay_interpret_reduce_large, fb_reduce, 1, kFbLargeBytes)
