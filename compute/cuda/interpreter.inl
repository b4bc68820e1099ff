// Kernels that run any program: its bytecode is a parameter. Behind compute/op.hpp,
// compute/prelude.inl and bytecode.inl; the tests compile it as C++ too. A program's values go
// through the same functions and its reductions through the same tree as in the kernel that is
// generated for it, so the bits agree.
//
// There are kernels for programs of f32 and i32 whose operations are all light, and typed ones for
// all others and for walks by tiles, which have long code and more registers.
#include "compute/cuda/tiles.inl"
#include "compute/cuda/interpreter_slots.inl"
#include "compute/cuda/interpreter_places.inl"
#include "compute/cuda/interpreter_operations.inl"
#include "compute/cuda/interpreter_code.inl"
#include "compute/cuda/blocks.inl"
#include "compute/cuda/interpreter_reduce.inl"
#include "compute/cuda/interpreter_joins.inl"

// A thread takes kFbMapElements elements, N at a time.
template <int N, bool kTyped, typename Args>
FB_FN void fb_map(const Args& a) {
  const unsigned thread = threadIdx.x, threads = blockDim.x;
  const long long start = (long long)blockIdx.x * (threads * kFbMapElements);
  const FbSlots<N> slots{threads, thread};
  const long long rest = a.head.count - start;
  const unsigned all = threads * kFbMapElements;
  const unsigned left = rest < all ? (unsigned)rest : all;
#pragma unroll 1
  for (unsigned pass = 0; pass < kFbMapElements; pass += N) {
    const FbMapPlace<kTyped, Args> place{
        a, start, left, threads, thread, pass, a.head.piece, a.head.piece_log2};
    unsigned acc[N];
    fb_load<N, kTyped>(a, slots, place, acc);
    fb_interpret<N, kTyped>(a, slots, place, acc);
  }
}

// The same by tiles (tiles.inl): a thread takes a patch of kFbMapElements in each pass.
template <typename Args>
FB_FN void fb_map_tiled(const Args& a) {
  const FbTileOfBlock<Args> tile(a);
  fb_stage_leaves(tile);
  const FbSlots<kFbMapElements> slots{blockDim.x, threadIdx.x};
  FbTilePlace<Args> place(tile);
#pragma unroll 1
  for (; place.any(); place.advance(a.head.wide_log2)) {
    unsigned acc[kFbMapElements];
    fb_load<kFbMapElements, true>(a, slots, place, acc);
    fb_interpret<kFbMapElements, true>(a, slots, place, acc);
  }
}
