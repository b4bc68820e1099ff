// The interpreter's words, and the slots in shared memory that hold them.

typedef double fb_f64;
typedef float fb_f32;
typedef long long fb_i64;
typedef int fb_i32;
typedef unsigned char fb_u8;
typedef bool fb_boolean;

// A value as it is held, and back.
FB_FN unsigned long long fb_word(double x) { return FB_BITS64(x); }
FB_FN unsigned long long fb_word(long long x) { return (unsigned long long)x; }
FB_FN unsigned fb_word(float x) { return FB_BITS(x); }
FB_FN unsigned fb_word(int x) { return (unsigned)x; }
FB_FN unsigned fb_word(unsigned char x) { return x; }
FB_FN unsigned fb_word(bool x) { return x ? 1 : 0; }
FB_FN unsigned fb_word(FbHalf x) { return FB_BITS(fb_to_f32(x)); }
FB_FN unsigned fb_word(FbBfloat x) { return FB_BITS(fb_to_f32(x)); }
FB_FN double fb_as(unsigned long long word, double) { return FB_DOUBLE(word); }
FB_FN long long fb_as(unsigned long long word, long long) { return (long long)word; }
FB_FN float fb_as(unsigned long long word, float) { return FB_FLOAT((unsigned)word); }
FB_FN int fb_as(unsigned long long word, int) { return (int)word; }
FB_FN unsigned char fb_as(unsigned long long word, unsigned char) { return (unsigned char)word; }
FB_FN bool fb_as(unsigned long long word, bool) { return (unsigned)word != 0; }
template <typename T>
FB_FN T fb_value(unsigned long long word) {
  return fb_as(word, T());
}

#if defined(__CUDA_ARCH__)
// One copy for all kernels, whatever it costs to call.
#define FB_FN_SHARED static __device__ __noinline__
#else
#define FB_FN_SHARED static
#endif

#if defined(__CUDA_ARCH__)
FB_FN unsigned char* fb_dynamic_shared() {
  extern __shared__ __align__(16) unsigned char fb_shared[];
  return fb_shared;
}
#else
FB_FN unsigned char* fb_dynamic_shared() {
  alignas(16) static unsigned char shared[256 << 10];
  return shared;
}
#endif

// The slots of a block: a thread's N elements of a slot lie in quads, neighbouring threads' beside
// each other, so that accesses of a warp meet no bank twice. A value of two slots has a quad for
// two elements.
template <int N>
struct FbSlots {
  unsigned threads, thread;

  FB_FN_MEMBER unsigned pitch() const { return threads * 16; }  // from a quad to the next
  FB_FN_MEMBER unsigned at(unsigned slot) const { return slot * (N / 4) * pitch() + thread * 16; }
  FB_FN_MEMBER FbQuad* quad(unsigned slot, unsigned q) const {
    return (FbQuad*)(fb_dynamic_shared() + (at(slot) + q * pitch()));
  }
  // Element e of a value as it came from memory: what a thread has lies together, quad by quad.
  FB_FN_MEMBER unsigned char* raw(unsigned slot, unsigned e, unsigned size_log2) const {
    const unsigned at = e << size_log2;
    return (unsigned char*)quad(slot, at / 16) + at % 16;
  }
  FB_FN_MEMBER unsigned long long* wide(unsigned slot, unsigned e) const {
    return (unsigned long long*)quad(slot, e / 2) + e % 2;
  }
  FB_FN_MEMBER void get(unsigned slot, unsigned (&words)[N]) const {
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      const FbQuad four = *quad(slot, q);
#pragma unroll
      for (int n = 0; n < 4; ++n) words[4 * q + n] = four.w[n];
    }
  }
  FB_FN_MEMBER void put(unsigned slot, const unsigned (&words)[N]) const {
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      FbQuad four;
#pragma unroll
      for (int n = 0; n < 4; ++n) four.w[n] = words[4 * q + n];
      *quad(slot, q) = four;
    }
  }
};
