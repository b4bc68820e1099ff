// Every reduction of every type, for the typed kernels.

// What a part of a row has become; the index of the best, or nothing.
struct FbTotal {
  unsigned long long bits;
  long long index;
};

FB_FN_SHARED FbTotal fb_join(unsigned join, FbTotal a, FbTotal b) {
  switch (join) {
#define FB_JOIN(name, value, term, total)                                                          \
  case kFbJoin_##name##_##value:                                                                   \
    return FbTotal{fb_word(fb_##name(fb_value<fb_##total>(a.bits), fb_value<fb_##total>(b.bits))), \
                   0};
#define FB_BEST_JOIN(name, type)                                             \
  case kFbJoin_##name##_##type: {                                            \
    typedef FbBest<fb_##type> Best;                                          \
    const Best best = fb_##name(Best{fb_value<fb_##type>(a.bits), a.index},  \
                                Best{fb_value<fb_##type>(b.bits), b.index}); \
    return FbTotal{fb_word(best.value), best.index};                         \
  }
    FB_JOINS(FB_JOIN)
    FB_BEST_JOINS(FB_BEST_JOIN)
  }
  return a;
}

// Of what is reduced.
template <typename T, int N>
FB_FN T fb_reduced(const unsigned (&acc)[N], const FbSlots<N>& slots, unsigned slot, int e) {
  if constexpr (sizeof(T) == 8) {
    return fb_value<T>(*slots.wide(slot, e));
  } else {
    return fb_value<T>(acc[e]);
  }
}

// Joins the N terms at hand with `total`; `held` keeps the first half of a thread's eight until the
// other one is there.
template <int N, typename Args, typename Place>
FB_FN void fb_take(const Args& a, const unsigned (&acc)[N], const FbSlots<N>& slots, unsigned slot,
                   const Place& place, FbTotal& held, FbTotal& total) {
// What lies behind the row's end is nothing.
#define FB_CUT                                                                                 \
  if (!place.whole()) {                                                                        \
    _Pragma("unroll") for (int e = 0; e < N; ++e) { t[e] = place.inside(e) ? t[e] : nothing; } \
  }
#define FB_TREE(name)                                                                          \
  _Pragma("unroll") for (int half = N / 2; half > 0; half /= 2) {                              \
    _Pragma("unroll") for (int m = 0; m < half; ++m) t[m] = fb_##name(t[2 * m], t[2 * m + 1]); \
  }
  switch (a.head.join) {
#define FB_TAKE(name, value, term, sum)                                                 \
  case kFbJoin_##name##_##value: {                                                      \
    const fb_##term nothing = (fb_##term)fb_value<fb_##sum>(a.head.identity);           \
    fb_##term t[N];                                                                     \
    _Pragma("unroll") for (int e = 0; e < N; ++e) {                                     \
      t[e] = fb_to_##term(fb_reduced<fb_##value>(acc, slots, slot, e));                 \
    }                                                                                   \
    FB_CUT                                                                              \
    FB_TREE(name)                                                                       \
    if (N < kFbElements) {                                                              \
      if (place.pass == 0) {                                                            \
        held.bits = fb_word(t[0]);                                                      \
        return;                                                                         \
      }                                                                                 \
      t[0] = fb_##name(fb_value<fb_##term>(held.bits), t[0]);                           \
    }                                                                                   \
    total.bits = fb_word(fb_##name(fb_value<fb_##sum>(total.bits), fb_to_##sum(t[0]))); \
    return;                                                                             \
  }
#define FB_TAKE_BEST(name, type)                                                             \
  case kFbJoin_##name##_##type: {                                                            \
    typedef FbBest<fb_##type> Best;                                                          \
    const Best nothing{fb_value<fb_##type>(a.head.identity), 0x7fffffffffffffffLL};          \
    Best t[N];                                                                               \
    _Pragma("unroll") for (int e = 0; e < N; ++e) {                                          \
      t[e] = Best{fb_reduced<fb_##type>(acc, slots, slot, e), place.start + place.local(e)}; \
    }                                                                                        \
    FB_CUT                                                                                   \
    FB_TREE(name)                                                                            \
    if (N < kFbElements) {                                                                   \
      if (place.pass == 0) {                                                                 \
        held = FbTotal{fb_word(t[0].value), t[0].index};                                     \
        return;                                                                              \
      }                                                                                      \
      t[0] = fb_##name(Best{fb_value<fb_##type>(held.bits), held.index}, t[0]);              \
    }                                                                                        \
    t[0] = fb_##name(Best{fb_value<fb_##type>(total.bits), total.index}, t[0]);              \
    total = FbTotal{fb_word(t[0].value), t[0].index};                                        \
    return;                                                                                  \
  }
    FB_JOINS(FB_TAKE)
    FB_BEST_JOINS(FB_TAKE_BEST)
  }
}

// A row's total as its result, to memory and, if it fits, to the mailbox.
template <typename Args>
FB_FN void fb_finish_row(const Args& a, FbTotal total, long long row) {
  const bool wide = a.head.total_wide;  // f64 where the result is real
  const double real =
      a.head.mean ? FB_DOUBLE(total.bits) / (double)a.head.reduced : FB_DOUBLE(total.bits);
  const float single = FB_FLOAT((unsigned)total.bits);
  unsigned word = 0;
  switch (a.head.result_form) {
    case kFbWide:
      ((unsigned long long*)a.head.result)[row] = a.head.indexed ? (unsigned long long)total.index
                                                  : a.head.mean  ? FB_BITS64(real)
                                                                 : total.bits;
      return;
    case kFbWord:
      word = wide ? FB_BITS(fb_to_f32(real)) : (unsigned)total.bits;
      ((unsigned*)a.head.result)[row] = word;
      break;
    case kFbByte:
    case kFbBoolean:
      word = (unsigned)total.bits & 255;
      ((unsigned char*)a.head.result)[row] = (unsigned char)word;
      break;
    case kFbF16:
      word = (wide ? fb_to_f16(real) : fb_to_f16(single)).bits;
      ((unsigned short*)a.head.result)[row] = (unsigned short)word;
      break;
    case kFbBf16:
      word = (wide ? fb_to_bf16(real) : fb_to_bf16(single)).bits;
      ((unsigned short*)a.head.result)[row] = (unsigned short)word;
      break;
  }
  fb_post(a, word);
}

template <int N, typename Args>
struct FbTaker {
  const Args& a;
  const FbSlots<N>& slots;
  FbTotal held, total;

  template <typename Place>
  FB_FN_MEMBER void operator()(const Place& place, const unsigned (&acc)[N], unsigned slot) {
    fb_take<N>(a, acc, slots, slot, place, held, total);
  }
};

// Where values need more shared memory than the plan's threads may have, a thread does the work of
// several, one after the other.
#define FB_EACH_THREAD \
  _Pragma("unroll 1") for (unsigned thread = threadIdx.x; thread < threads; thread += blockDim.x)

FB_FN FbTotal* fb_totals() {
  __shared__ FbTotal totals[256];
  return totals;
}

template <typename Args>
FB_FN void fb_fold_threads(const FbTile<Args>& tile, unsigned threads) {
  FbTotal* const fold = fb_totals();
#pragma unroll 1
  for (unsigned half = tile.group >> 1; half > 0; half >>= 1) {
    __syncthreads();
    FB_EACH_THREAD {
      if (tile.member(thread) < half) {
        fold[thread] = fb_join(tile.a.head.join, fold[thread], fold[thread + half * tile.pitch]);
      }
    }
  }
}

template <int N, typename Args>
FB_FN void fb_reduce_typed(const Args& a) {
  const FbTile<Args> tile(a);
  const FbSlots<N> slots{blockDim.x, threadIdx.x};
  FbTotal* const fold = fb_totals();
  const FbTotal nothing{a.head.identity, 0x7fffffffffffffffLL};
  const unsigned threads = tile.group * tile.columns;
  FB_EACH_THREAD {
    FbTaker<N, Args> taker{a, slots, {}, nothing};
    fb_walk_row<N, true>(tile, thread, slots, taker);
    fold[thread] = taker.total;
  }
  fb_fold_threads(tile, threads);
  if (a.head.splits > 1) {
    const unsigned splits = a.head.splits, words = tile.template words<FbTotal>();
    FB_EACH_THREAD {
      unsigned long long* const place = tile.template place<FbTotal>(thread);
      if (tile.member(thread) == 0) fb_leave(place + tile.split * words, fold[thread]);
    }
    if (!tile.last()) return;
    __syncthreads();
    const auto join = [&](FbTotal x, FbTotal y) { return fb_join(a.head.join, x, y); };
    FB_EACH_THREAD {
      unsigned long long* const place = tile.template place<FbTotal>(thread);
      FbTotal own[1] = {nothing};
      if (fb_has_last(splits, tile.member(thread), a.head.group_log2)) {
        fb_collect(own, place + tile.split * words, 0, 1);
      }
      fold[thread] = fb_join_blocks(own[0], nothing, place, words, splits, tile.member(thread),
                                    a.head.group_log2, join);
    }
    fb_fold_threads(tile, threads);
  }
  FB_EACH_THREAD {
    if (tile.member(thread) == 0 && tile.here(thread)) {
      fb_finish_row(a, fold[thread], tile.row(thread));
    }
  }
}
