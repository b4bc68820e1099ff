// What the files with interpreter kernels begin with. They are compiled by nvcc when the library is
// built, with contraction off. Unsigned numbers are compared with 0 in functions of every integer
// type, and kernels of words loop over nothing.
#pragma nv_diag_suppress 128, 186
#include "forebay/compute/op.hpp"

#include "compute/prelude.inl"
#include "compute/cuda/bytecode.inl"
#include "compute/cuda/interpreter.inl"

// `blocks` is how many of 256 threads a multiprocessor must be able to hold.
#define FB_KERNEL(name, blocks, bytes, ...)                 \
  extern "C" __global__ void __launch_bounds__(256, blocks) \
      name(const __grid_constant__ FbArguments<bytes> a) {  \
    __VA_ARGS__(a);                                         \
  }
