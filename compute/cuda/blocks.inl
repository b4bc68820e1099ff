// How the threads of a block, and the blocks of a kernel, join what they have of a row. Only
// kernels have this part, generated ones and the interpreter's, and those who emulate them.

// A value as words of four bytes.
template <typename T>
struct FbWords {
  unsigned word[(sizeof(T) + 3) / 4];
};
template <typename T>
FB_FN FbWords<T> fb_to_words(T value) {
  FbWords<T> words = {};
  memcpy(&words, &value, sizeof value);
  return words;
}
template <typename T>
FB_FN T fb_from_words(FbWords<T> words) {
  T value;
  memcpy(&value, &words, sizeof value);
  return value;
}

// The value of the thread `distance` places on in the same warp; every thread of the warp asks.
template <typename T>
FB_FN T fb_neighbour(T value, unsigned distance) {
  FbWords<T> words = fb_to_words(value);
#pragma unroll
  for (unsigned& word : words.word) word = __shfl_down_sync(0xffffffffU, word, distance);
  return fb_from_words(words);
}

// Joins the totals of a row's `group` threads, `pitch` places apart, in a fixed tree, halves of
// halves; that of member 0 becomes the row's. Every thread of the block calls it; `fold` has a place
// for each. REQUIRES: powers of two.
template <typename T, typename Join>
FB_FN T fb_fold(T total, T* fold, unsigned member, unsigned group, unsigned pitch, Join join) {
  const unsigned thread = threadIdx.x;
  unsigned left = group;  // members with a total, a warp or less in the end
  fold[thread] = total;
#pragma unroll 1
  while (left > 1 && left * pitch > 32) {
    // Two levels of the tree at once, if there are two.
    const bool two = left > 2 && left * pitch > 64;
    left >>= two ? 2 : 1;
    __syncthreads();
    if (member < left) {
      const T* const from = fold + thread;
      const unsigned apart = left * pitch;
      if (two) {
        const T second = from[apart], third = from[2 * apart], fourth = from[3 * apart];
        total = join(join(total, third), join(second, fourth));
      } else {
        total = join(total, from[apart]);
      }
      fold[thread] = total;
    }
  }
  // In a warp whose first thread takes no part, none does.
  if (__shfl_sync(0xffffffffU, member, 0) >= left) return total;
#pragma unroll 1
  for (unsigned half = left >> 1; half > 0; half >>= 1) {
    const T other = fb_neighbour(total, half * pitch);
    if (member < half) total = join(total, other);
  }
  return total;
}

// A block leaves its total where another one collects it: in words of eight bytes, each with four
// of the total above a mark that says they are there. Such a word arrives as a whole, so this needs
// no fence. CUDA does not promise that blocks start in the order of their indices, but devices do
// so, and like many a scan this relies on it: a block waits only for those before it. Marks are 0
// before a launch, and after it again.
template <typename T>
FB_FN void fb_leave(unsigned long long* place, T total) {
  const FbWords<T> words = fb_to_words(total);
  volatile unsigned long long* next = place;
#pragma unroll
  for (unsigned word : words.word) *next++ = (unsigned long long)word << 32 | 1;
}

// The first `count` of N totals, which lie `pitch` words apart.
template <int N, typename T>
FB_FN void fb_collect(T (&totals)[N], unsigned long long* place, unsigned pitch, unsigned count) {
  FbWords<T> words[N];
  for (unsigned there = 0; there == 0;) {
    there = 1;
#pragma unroll
    for (unsigned n = 0; n < N; ++n) {
      if (n >= count) continue;
      volatile unsigned long long* next = place + n * pitch;
#pragma unroll
      for (unsigned& word : words[n].word) {
        const unsigned long long marked = *next++;
        word = (unsigned)(marked >> 32);
        there &= (unsigned)marked;
      }
    }
  }
#pragma unroll
  for (unsigned n = 0; n < N; ++n) {
    if (n >= count) continue;
#pragma unroll
    for (unsigned k = 0; k < sizeof(FbWords<T>) / 4; ++k) {
      *(volatile unsigned long long*)(place + n * pitch + k) = 0;
    }
    totals[n] = fb_from_words(words[n]);
  }
}

// Whether the last block's total is in this member's part.
FB_FN bool fb_has_last(unsigned splits, unsigned member, unsigned group_log2) {
  return member == ((splits - 1) & ((1U << group_log2) - 1));
}

// A thread's part of what the `splits` blocks of a row have, in a fixed order: from `member` on every
// total that is a group (1 << group_log2) further. The last block calls it, whose own total is
// `own`; those before it have left theirs from `place` on, `pitch` words apart.
template <typename T, typename Join>
FB_FN T fb_join_blocks(T own, T nothing, unsigned long long* place, unsigned pitch, unsigned splits,
                       unsigned member, unsigned group_log2, Join join) {
  const unsigned group = 1U << group_log2;
  constexpr unsigned kWords = sizeof(FbWords<T>) / 4;
  constexpr unsigned kAtOnce = kWords < 4 ? 4 / kWords : 1;  // more would spill
  T total = nothing;
#pragma unroll 1
  for (unsigned other = member; other + 1 < splits; other += kAtOnce * group) {
    const unsigned count = ((splits - 2 - other) >> group_log2) + 1;
    T left[kAtOnce];
    fb_collect(left, place + other * pitch, group * pitch, count);
#pragma unroll
    for (unsigned n = 0; n < kAtOnce; ++n) {
      if (n < count) total = join(total, left[n]);
    }
  }
  return fb_has_last(splits, member, group_log2) ? join(total, own) : total;
}
