// Kernels that run any program: its bytecode is a parameter. Behind compute/op.hpp,
// compute/prelude.inl and bytecode.inl; the tests compile it as C++ too. A program's values go
// through the same functions and its reductions through the same tree as in the kernel that is
// generated for it, so the bits agree.
//
// There are kernels for programs of f32 and i32 whose operations are all light, and typed ones for
// all others and for walks by tiles, which have long code and more registers.
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

// The same by tiles: a warp has one of kFbTileInner by kFbTileAcross elements.
template <typename Args>
FB_FN void fb_map_tiled(const Args& a) {
  const unsigned thread = threadIdx.x, warp = thread / kFbWarp, lane = thread % kFbWarp;
  const unsigned warps = blockDim.x / kFbWarp, wide = 1U << a.head.wide_log2;
  const unsigned inner_tile = blockIdx.x % a.head.inner_tiles;
  const unsigned rest = blockIdx.x / a.head.inner_tiles;
  const unsigned across_tile = rest % a.head.across_tiles;
  const long long across_warp = (long long)across_tile * (warps / wide) + warp / wide;
  const long long inner_warp = (long long)inner_tile * wide + warp % wide;
  const FbTilePlace<Args> place{a,
                                rest / a.head.across_tiles,
                                across_warp * kFbTileAcross + lane % kFbTileStep,
                                inner_warp * kFbTileInner + lane / kFbTileStep * kFbTilePiece,
                                a.head.piece,
                                a.head.piece_log2};
  // Warps beyond the end; nobody waits for them.
  if (inner_warp * kFbTileInner >= place.extent(0)) return;
  if (across_warp * kFbTileAcross >= place.extent(1)) return;
  const FbSlots<kFbMapElements> slots{blockDim.x, thread};
  unsigned acc[kFbMapElements];
  fb_load<kFbMapElements, true>(a, slots, place, acc);
  fb_interpret<kFbMapElements, true>(a, slots, place, acc);
}
