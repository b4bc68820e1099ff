// Maps whose inputs lie across their outputs: a block walks a tile of two dimensions, the innermost
// one of its outputs and another one, along which such a leaf's elements are neighbours. A leaf's
// part of the tile is read along its own neighbours into shared memory and used along those of the
// outputs. A thread has patches of sixteen elements, a few neighbours in a few neighbouring rows, so
// that it reads and writes whole words, and a warp whole lines. The interpreter's are of
// kFbPatch elements along both dimensions.

enum : unsigned { kFbPatch = 4, kFbOfPatch = 16 };

struct alignas(16) FbQuad {
  unsigned w[4];
};
struct alignas(8) FbTwo {
  unsigned w[2];
};

// From global to shared memory, four bytes and more past the registers; fb_wait before the thread
// reads its own.
#if __CUDA_ARCH__ >= 800
#define FB_COPY(name, how, bytes)                                    \
  FB_FN void name(void* to, const void* from) {                      \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " bytes \
                 ";" ::"r"((unsigned)__cvta_generic_to_shared(to)),  \
                 "l"(from)                                           \
                 : "memory");                                        \
  }
FB_COPY(fb_copy_16, "cg", "16")
FB_COPY(fb_copy_8, "ca", "8")
FB_COPY(fb_copy_4, "ca", "4")
FB_FN void fb_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
FB_FN void fb_copy_16(void* to, const void* from) { *(FbQuad*)to = *(const FbQuad*)from; }
FB_FN void fb_copy_8(void* to, const void* from) { *(FbTwo*)to = *(const FbTwo*)from; }
FB_FN void fb_copy_4(void* to, const void* from) { *(unsigned*)to = *(const unsigned*)from; }
FB_FN void fb_wait() {}
#endif

FB_FN void fb_copy(void* to, const void* from, unsigned size_log2) {
  switch (size_log2) {
    case 0:
      *(unsigned char*)to = *(const unsigned char*)from;
      break;
    case 1:
      *(unsigned short*)to = *(const unsigned short*)from;
      break;
    case 2:
      fb_copy_4(to, from);
      break;
    case 3:
      fb_copy_8(to, from);
      break;
    default:
      fb_copy_16(to, from);
  }
}

// A leaf's part of a tile: rows along the leaf's neighbours, 1 << row_log2 elements of 1 << size_log2
// bytes each; 1 << patch_log2 of them are a patch's. A row's chunks of 8 or 16 bytes change places
// with the patch, so that the threads of a warp, who are in different ones, meet few banks twice.
struct FbStage {
  unsigned char* memory;
  unsigned size_log2, row_log2, patch_log2;

  FB_FN_MEMBER unsigned chunk_log2() const { return size_log2 < 2 ? 3 : 4; }
  // Row n of a patch.
  FB_FN_MEMBER unsigned char* at(unsigned patch, unsigned n, unsigned column) const {
    const unsigned last = (1U << (row_log2 + size_log2 - chunk_log2())) - 1;
    const unsigned bytes = column << size_log2;
    const unsigned chunk = (bytes >> chunk_log2()) ^ (patch & last);
    return memory + ((((patch << patch_log2) + n) << (row_log2 + size_log2)) +
                     (chunk << chunk_log2()) + (bytes & ((1U << chunk_log2()) - 1)));
  }
  FB_FN_MEMBER unsigned char* at(unsigned row, unsigned column) const {
    return at(row >> patch_log2, row & ((1U << patch_log2) - 1), column);
  }
};

// Where a block reads that part: `from` is its first element, `row_step` and `step` are bytes to the
// next row and to the next element of a row. Up to 1 << copy_log2 bytes may be copied at once.
struct FbStaged {
  const unsigned char* from;
  long long row_step, step;
  unsigned copy_log2;

  // Elements that are.
  FB_FN_MEMBER unsigned unit_log2(const FbStage& stage) const {
    const unsigned bytes_log2 = copy_log2 < stage.chunk_log2() ? copy_log2 : stage.chunk_log2();
    return bytes_log2 > stage.size_log2 ? bytes_log2 - stage.size_log2 : 0;
  }
};

// Rows `row`, row + apart, …, N of them, as words of so many bytes at `column`. What is narrower than
// four bytes goes through registers; without a question in between, the loads are in flight together.
template <unsigned kWidthLog2, unsigned N>
FB_FN void fb_stage_rows(const FbStage& stage, unsigned row, unsigned apart, unsigned column,
                         const unsigned char* from, long long step) {
  if constexpr (kWidthLog2 < 2) {
    unsigned short words[N];
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
      words[k] = kWidthLog2 == 0 ? *from : *(const unsigned short*)from;
      from += step;
    }
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
      unsigned char* const to = stage.at(row + k * apart, column);
      if (kWidthLog2 == 0) *to = (unsigned char)words[k];
      if (kWidthLog2 == 1) *(unsigned short*)to = words[k];
    }
  } else {
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
      fb_copy(stage.at(row + k * apart, column), from, kWidthLog2);
      from += step;
    }
  }
}

// Whole rows.
template <unsigned kWidthLog2>
FB_FN void fb_stage_whole(const FbStage& stage, const FbStaged& leaf, unsigned rows) {
  const unsigned unit_log2 = leaf.unit_log2(stage), units_log2 = stage.row_log2 - unit_log2;
  // Threads beside each other in a row, those of all rows of that length.
  const unsigned beside = 1U << units_log2 < blockDim.x ? 1U << units_log2 : blockDim.x;
  const unsigned first = threadIdx.x & (beside - 1), top = threadIdx.x / beside;
  const unsigned apart = blockDim.x / beside;
  const long long step = apart * leaf.row_step;
#pragma unroll 1
  for (unsigned unit = first; unit < 1U << units_log2; unit += beside) {
    const unsigned column = unit << unit_log2;
    const unsigned char* from = leaf.from + column * leaf.step + top * leaf.row_step;
    unsigned row = top;
#pragma unroll 1
    for (; row + 3 * apart < rows; row += 4 * apart) {
      fb_stage_rows<kWidthLog2, 4>(stage, row, apart, column, from, step);
      from += 4 * step;
    }
#pragma unroll 1
    for (; row < rows; row += apart) {
      fb_stage_rows<kWidthLog2, 1>(stage, row, apart, column, from, step);
      from += step;
    }
  }
}

// The block reads `rows` rows, of which `rows_inside` are inside of the space, and as many elements
// of each. fb_wait and __syncthreads before anyone uses them.
FB_FN void fb_stage(const FbStage& stage, const FbStaged& leaf, unsigned rows, unsigned rows_inside,
                    unsigned inside) {
  const unsigned size = stage.size_log2, unit_log2 = leaf.unit_log2(stage);
  const unsigned width_log2 = size + unit_log2;
  if (rows == rows_inside && inside >> stage.row_log2) {
    switch (width_log2) {
      case 0:
        return fb_stage_whole<0>(stage, leaf, rows);
      case 1:
        return fb_stage_whole<1>(stage, leaf, rows);
      case 2:
        return fb_stage_whole<2>(stage, leaf, rows);
      case 3:
        return fb_stage_whole<3>(stage, leaf, rows);
      default:
        return fb_stage_whole<4>(stage, leaf, rows);
    }
  }
  const unsigned units_log2 = stage.row_log2 - unit_log2;
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < rows_inside << units_log2; n += blockDim.x) {
    const unsigned row = n >> units_log2;
    const unsigned column = (n & ((1U << units_log2) - 1)) << unit_log2;
    const unsigned char* from = leaf.from + row * leaf.row_step + column * leaf.step;
    const bool all = column + (1U << unit_log2) <= inside;
    const unsigned end = all ? column + 1 : inside;
#pragma unroll 1
    for (unsigned c = column; c < end; ++c) {
      fb_copy(stage.at(row, c), from, all ? width_log2 : size);
      from += leaf.step;
    }
  }
}

// A thread's patch of a stage, from `column` on, a multiple of kFbPatch: the elements of its rows.
template <unsigned kSizeLog2>
FB_FN void fb_patch_row(const FbStage& stage, unsigned patch, unsigned n, unsigned column,
                        unsigned (&words)[1U << kSizeLog2]) {
  const FbStage known{stage.memory, kSizeLog2, stage.row_log2, stage.patch_log2};
  const unsigned pitch = n << (kSizeLog2 + stage.row_log2);
  const unsigned char* const at = known.at(patch, 0, column) + pitch;
  if constexpr (kSizeLog2 == 0) {
    words[0] = *(const unsigned*)at;
  } else if constexpr (kSizeLog2 == 1) {
    const FbTwo two = *(const FbTwo*)at;
    words[0] = two.w[0];
    words[1] = two.w[1];
  } else {
#pragma unroll
    for (unsigned q = 0; q < 1U << (kSizeLog2 - 2); ++q) {
      const FbQuad four = *(const FbQuad*)(known.at(patch, 0, column + 2 * q) + pitch);
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) words[4 * q + k] = four.w[k];
    }
  }
}

// A thread's patches of kInner neighbours, one in each pass over its block's tile: `1 << wide_log2`
// threads are beside each other along the innermost dimension, the others in rows along the other.
template <unsigned kInner>
struct FbPatches {
  enum : unsigned { kAcross = kFbOfPatch / kInner };
  unsigned patch, column;     // of the first element in a stage
  long long linear, step;     // its index, and what is from there to the next row
  unsigned inners, acrosses;  // of the patch, what is inside of the space
  int across_left;            // of the tile, from the patch on

  // The tile reaches `1 << across_log2` far along the other dimension; from its first element, with
  // index `first`, the space has `inner_left` and `left` elements along the two.
  FB_FN_MEMBER FbPatches(unsigned wide_log2, unsigned across_log2, long long first,
                         long long row_step, long long inner_left, long long left)
      : patch(threadIdx.x & ((1U << wide_log2) - 1)),
        column((threadIdx.x >> wide_log2) * kAcross),
        linear(first + column * row_step + patch * kInner),
        step(row_step) {
    const int tile_across = 1 << across_log2;
    inners = inside_of((int)(inner_left < 1 << 20 ? inner_left : 1 << 20) - (int)(patch * kInner),
                       kInner);
    across_left = (left < tile_across ? (int)left : tile_across) - (int)column;
    acrosses = inside_of(across_left, kAcross);
  }
  // To the patch that is the thread's in the next pass.
  FB_FN_MEMBER void advance(unsigned wide_log2) {
    const unsigned by = (blockDim.x >> wide_log2) * kAcross;
    column += by;
    linear += by * step;
    across_left -= (int)by;
    acrosses = inside_of(across_left, kAcross);
  }
  FB_FN_MEMBER static unsigned inside_of(int left, unsigned most) {
    return left <= 0 ? 0 : left < (int)most ? (unsigned)left : most;
  }
  FB_FN_MEMBER bool any() const { return inners > 0 && acrosses > 0; }
  FB_FN_MEMBER bool whole() const { return inners + acrosses == kInner + kAcross; }
  // Element e, row after row.
  FB_FN_MEMBER bool inside(unsigned e) const {
    return e % kInner < inners && e / kInner < acrosses;
  }
  FB_FN_MEMBER long long index(unsigned e) const {
    return linear + e / kInner * step + e % kInner;
  }
};

// All elements of a patch, row after row; what is not inside is anything.
template <typename T, unsigned kInner>
FB_FN void fb_patch(const FbStage& stage, const FbPatches<kInner>& at, T (&x)[kFbOfPatch]) {
  constexpr unsigned kSizeLog2 = sizeof(T) == 8 ? 3 : sizeof(T) == 4 ? 2 : sizeof(T) == 2 ? 1 : 0;
  constexpr unsigned kAtOnce = sizeof(T) == 8 ? 2 : 4;
  const FbStage known{stage.memory, kSizeLog2, stage.row_log2, stage.patch_log2};
#pragma unroll
  for (unsigned n = 0; n < kInner; ++n) {
#pragma unroll
    for (unsigned row = 0; row < kFbOfPatch / kInner; row += kAtOnce) {
      const unsigned char* const from =
          known.at(at.patch, 0, at.column + row) + (n << (kSizeLog2 + stage.row_log2));
      const FbPack<T, kAtOnce> pack = *(const FbPack<T, kAtOnce>*)from;
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) x[kInner * (row + k) + n] = pack.v[k];
    }
  }
}
