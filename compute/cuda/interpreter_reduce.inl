// Reductions by the tree of the generated kernels: eight terms of a thread, the threads of a row,
// the blocks of a tile.

// The rows and the part of them that a block has, and those of one thread of the plan.
template <typename Args>
struct FbTile {
  const Args& a;
  unsigned group, columns, tiles, split, tile, pitch;

  explicit FB_FN_MEMBER FbTile(const Args& args)
      : a(args),
        group(1U << a.head.group_log2),
        columns(1U << a.head.columns_log2),
        tiles(a.head.tiles),
        split(fb_divide(blockIdx.x, a.head.tiles_magic, a.head.tiles_shift)),
        tile(blockIdx.x - split * tiles),
        pitch(a.head.inner ? 1 : columns) {}

  FB_FN_MEMBER unsigned member(unsigned thread) const {
    return a.head.inner ? thread & (group - 1) : thread >> a.head.columns_log2;
  }
  FB_FN_MEMBER unsigned column(unsigned thread) const {
    return a.head.inner ? thread >> a.head.group_log2 : thread & (columns - 1);
  }
  FB_FN_MEMBER long long row(unsigned thread) const {
    return (long long)tile * columns + column(thread);
  }
  FB_FN_MEMBER bool here(unsigned thread) const { return row(thread) < a.head.kept; }
  // Whether the row's total becomes complete in this block, which joins those of all.
  FB_FN_MEMBER bool last() const { return split + 1 == a.head.splits; }
  // The words of a total where blocks leave them, of one chunk of all rows, and where those of this
  // thread's row begin.
  template <typename T>
  FB_FN_MEMBER unsigned words() const {
    return sizeof(FbWords<T>) / 4 * tiles * columns;
  }
  template <typename T>
  FB_FN_MEMBER unsigned long long* place(unsigned thread) const {
    return a.head.partials + sizeof(FbWords<T>) / 4 * (tile * columns + column(thread));
  }
};

// Runs the code over a thread's part of its row, N elements at a time, of a step or of several, and
// calls `take` with what is reduced.
template <int N, bool kTyped, typename Args, typename Take>
FB_FN void fb_walk_row(const FbTile<Args>& tile, unsigned thread, const FbSlots<N>& slots,
                       Take& take) {
  constexpr unsigned kAtOnce = N < kFbElements ? unsigned{kFbElements} : N;
  const Args& a = tile.a;
  const long long row = tile.row(thread);
  const bool here = tile.here(thread);
  const long long begin = tile.split * a.head.chunk;
  const long long whole_end = begin + a.head.chunk;
  const long long end = !here ? begin : whole_end < a.head.reduced ? whole_end : a.head.reduced;
  const long long base = here ? fb_offset(a, 0, a.head.kept_dims, row, a.head.index_strides_at) : 0;
#pragma unroll 1
  for (long long start = begin; start < end; start += tile.group * kAtOnce) {
    const unsigned all = tile.group * kAtOnce;
    const unsigned left = end - start < all ? (unsigned)(end - start) : all;
#pragma unroll 1
    for (unsigned pass = 0; pass < kAtOnce; pass += N) {
      const FbRowPlace<kAtOnce, Args> place{a,
                                            row,
                                            base,
                                            start,
                                            left,
                                            tile.group,
                                            tile.member(thread),
                                            pass,
                                            a.head.piece,
                                            a.head.piece_log2};
      unsigned acc[N];
      fb_load<N, kTyped>(a, slots, place, acc);
      const unsigned slot = fb_interpret<N, kTyped>(a, slots, place, acc);
      take(place, acc, slot);
    }
  }
}

// One store, so that the host sees both words or neither.
template <typename Args>
FB_FN void fb_post(const Args& a, unsigned word) {
  if (!a.head.mailbox) return;
  *(volatile unsigned long long*)a.head.mailbox = (unsigned long long)a.head.ticket << 32 | word;
}

// Sums of f32 and of i32, in registers.
template <typename T>
struct FbSum;
template <>
struct FbSum<float> {
  typedef double Sum;
  typedef float Term;
  typedef float Result;
};
template <>
struct FbSum<int> {
  typedef unsigned long long Sum;
  typedef unsigned long long Term;
  typedef long long Result;
};

// A word of eight bytes for each thread of a block: one array for the sums of every type.
FB_FN void* fb_sums() {
  __shared__ unsigned long long sums[256];
  return sums;
}

template <typename T, typename Args>
FB_FN void fb_finish(const FbTile<Args>& tile, typename FbSum<T>::Sum total) {
  typedef typename FbSum<T>::Sum Sum;
  const Args& a = tile.a;
  Sum* const fold = (Sum*)fb_sums();
  const unsigned thread = threadIdx.x, member = tile.member(thread);
  const auto join = [](Sum x, Sum y) { return x + y; };
  // A loop, so that the second fold finds its instructions in the cache.
#pragma unroll 1
  for (bool all = a.head.splits == 1;; all = true) {
    total = fb_fold(total, fold, member, tile.group, tile.pitch, join);
    if (all) break;
    unsigned long long* const place = tile.template place<Sum>(thread);
    const unsigned words = tile.template words<Sum>();
    if (!tile.last()) {
      if (member == 0) fb_leave(place + tile.split * words, total);
      return;
    }
    if (member == 0) fold[thread] = total;
    __syncthreads();
    const Sum own = fold[thread - member * tile.pitch];
    total = fb_join_blocks(own, (Sum)0, place, words, a.head.splits, member,
                           a.head.group_log2, join);
    __syncthreads();
  }
  if (member == 0 && tile.here(thread)) {
    typedef typename FbSum<T>::Result Result;
    const Result value = (Result)(a.head.mean ? total / (Sum)a.head.reduced : total);
    ((Result*)a.head.result)[tile.row(thread)] = value;
    if constexpr (sizeof(Result) == 4) fb_post(a, fb_word(value));
  }
}

// ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7)) of a step's elements, step after step.
template <typename T, int N>
FB_FN typename FbSum<T>::Sum fb_sum_of(typename FbSum<T>::Sum total, const unsigned (&acc)[N]) {
#pragma unroll
  for (int step = 0; step < N; step += kFbElements) {
    typename FbSum<T>::Term t[kFbElements];
#pragma unroll
    for (int e = 0; e < kFbElements; ++e) t[e] = fb_value<T>(acc[step + e]);
    total = total + (((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7])));
  }
  return total;
}

template <int N, typename Args>
struct FbSummer {
  const Args& a;
  double real;
  unsigned long long whole;

  template <typename Place>
  FB_FN_MEMBER void operator()(const Place& place, unsigned (&acc)[N], unsigned) {
    if (!place.whole()) {
      // The term of an element that lies behind the row's end is 0.
#pragma unroll
      for (int e = 0; e < N; ++e) acc[e] = place.inside(e) ? acc[e] : 0;
    }
    if (a.head.real) {
      real = fb_sum_of<float>(real, acc);
    } else {
      whole = fb_sum_of<int>(whole, acc);
    }
  }
};

// What a block reads is on its way while it finds out where that is; the bytes of a thread in
// one step of f32.
template <typename Args>
FB_FN void fb_fetch_ahead(const Args& a) {
#if defined(__CUDA_ARCH__)
  if (a.head.ahead_bytes == 0) return;
  const unsigned char* const at =
      a.head.ahead + blockIdx.x * a.head.ahead_bytes + threadIdx.x * 32;
  if (at < a.head.ahead_end) asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

// N elements of a thread at a time: of a step, or of two.
template <int N, typename Args>
FB_FN void fb_reduce(const Args& a) {
  fb_fetch_ahead(a);
  const FbTile<Args> tile(a);
  const FbSlots<N> slots{blockDim.x, threadIdx.x};
  FbSummer<N, Args> summer{a, 0, 0};
  fb_walk_row<N, false>(tile, threadIdx.x, slots, summer);
  if (a.head.real) {
    fb_finish<float>(tile, summer.real);
  } else {
    fb_finish<int>(tile, summer.whole);
  }
}
