// The kernels behind index_select, gather and arange: one text for the host, for nvcc and for
// NVRTC, behind the first part of the prelude.

// x is [outer, extent, inner] and the result [outer, picks, inner]. The index of element (o, j, k)
// stands at o index_outer + j index_step + k index_inner.
struct FbGather {
  long long count, picks, extent, inner;
  long long index_outer, index_step, index_inner;
};

template <typename Word>
FB_FN void fb_gather(const Word* x, const long long* index, Word* out, const FbGather& l,
                     long long i) {
  const long long k = i % l.inner;
  const long long j = i / l.inner % l.picks;
  const long long o = i / (l.inner * l.picks);
  const long long at = index[o * l.index_outer + j * l.index_step + k * l.index_inner];
  out[i] = x[(o * l.extent + at) * l.inner + k];
}

#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
#define FB_GATHER(bytes, Word)                                                            \
  extern "C" __global__ void __launch_bounds__(256) forebay_gather_##bytes(               \
      const Word* x, const long long* index, Word* out, const FbGather l) {               \
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;                        \
    if (i < l.count) fb_gather(x, index, out, l, i);                                      \
  }
FB_GATHER(1, unsigned char)
FB_GATHER(2, unsigned short)
FB_GATHER(4, unsigned)
FB_GATHER(8, unsigned long long)

extern "C" __global__ void __launch_bounds__(256) forebay_positions(long long* out,
                                                                    const long long count) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < count) out[i] = i;
}
#endif
