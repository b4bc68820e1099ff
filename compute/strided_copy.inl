// The kernels that write to views with strides: one text for the host, for nvcc and for NVRTC,
// behind the first part of the prelude.

// Elements of a space of `extents`, row-major; strides count elements. `rank` is at least 1.
struct FbStridedCopy {
  long long count;
  long long extents[8], target[8], source[8];
  int rank;
};

struct FbPlaces {
  long long target, source;
};

// Where element `i` lies. Indices of 32 bits, where they do, spare a GPU most of the division.
template <typename Index>
FB_FN FbPlaces fb_places(const FbStridedCopy& l, Index i) {
  FbPlaces places = {0, 0};
  for (int d = l.rank - 1; d > 0; --d) {
    const Index extent = (Index)l.extents[d];
    const Index rest = i / extent;
    const long long at = (long long)(i - rest * extent);
    places.target += at * l.target[d];
    places.source += at * l.source[d];
    i = rest;
  }
  places.target += (long long)i * l.target[0];
  places.source += (long long)i * l.source[0];
  return places;
}

#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
template <typename Word>
FB_FN void fb_strided_copy(const Word* source, Word* target, const FbStridedCopy& l) {
  const long long step = (long long)gridDim.x * 256;
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < l.count; i += step) {
    const FbPlaces places = l.count <= 0xffffffffLL ? fb_places(l, (unsigned)i)
                                                    : fb_places(l, (unsigned long long)i);
    target[places.target] = source[places.source];
  }
}

#define FB_STRIDED_COPY(bytes, Word)                                           \
  extern "C" __global__ void __launch_bounds__(256) forebay_strided_copy_##bytes( \
      const Word* source, Word* target, const FbStridedCopy l) {               \
    fb_strided_copy(source, target, l);                                        \
  }
FB_STRIDED_COPY(1, unsigned char)
FB_STRIDED_COPY(2, unsigned short)
FB_STRIDED_COPY(4, unsigned)
FB_STRIDED_COPY(8, unsigned long long)
#endif
