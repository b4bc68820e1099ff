// Kernels that run any program: its bytecode is a parameter. Behind compute/prelude.inl and
// bytecode.inl; the tests compile it as C++ too. A program's values go through the same functions
// and its sums through the same tree as in the kernel that is generated for it, so the bits agree.
//
// Decoding an instruction costs about a dozen instructions of the processor and is shared by the N
// elements of a thread. Branches follow the bytecode, so a warp never diverges in them.

typedef float fb_f32;
typedef int fb_i32;
typedef bool fb_boolean;

FB_FN unsigned fb_word(float x) { return FB_BITS(x); }
FB_FN unsigned fb_word(int x) { return (unsigned)x; }
FB_FN unsigned fb_word(bool x) { return x ? 1 : 0; }
FB_FN float fb_as(unsigned word, float) { return FB_FLOAT(word); }
FB_FN int fb_as(unsigned word, int) { return (int)word; }
FB_FN bool fb_as(unsigned word, bool) { return word != 0; }
template <typename T>
FB_FN T fb_value(unsigned word) {
  return fb_as(word, T());
}

#if defined(__CUDA_ARCH__)
#define FB_FN_MEMBER __device__ __forceinline__
#else
#define FB_FN_MEMBER
#endif

struct alignas(16) FbQuad {
  unsigned w[4];
};

// From global to shared memory, past the registers; fb_wait before the thread reads its own.
#if defined(__CUDA_ARCH__)
FB_FN unsigned char* fb_dynamic_shared() {
  extern __shared__ __align__(16) unsigned char fb_shared[];
  return fb_shared;
}
FB_FN void fb_copy_quad(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)),
               "l"(from)
               : "memory");
}
// 0 unless `inside`; `from` is not read then.
FB_FN void fb_copy_word(void* to, const void* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)),
               "l"(from), "r"(inside ? 4 : 0)
               : "memory");
}
FB_FN void fb_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
FB_FN unsigned char* fb_dynamic_shared() {
  alignas(16) static unsigned char shared[256 << 10];
  return shared;
}
FB_FN void fb_copy_quad(void* to, const void* from) { *(FbQuad*)to = *(const FbQuad*)from; }
FB_FN void fb_copy_word(void* to, const void* from, bool inside) {
  *(unsigned*)to = inside ? *(const unsigned*)from : 0;
}
FB_FN void fb_wait() {}
#endif

FB_FN unsigned fb_divide(unsigned n, unsigned magic, unsigned shift) {
  return (__umulhi(n, magic) + n) >> shift;
}

// The offset of element `index` of the space of dimensions `first` to `last` - 1, by the strides
// at `strides`.
template <typename Args>
FB_FN long long fb_offset(const Args& a, unsigned first, unsigned last, long long index,
                          unsigned strides) {
  if (first == last) return 0;
  const unsigned long long* const dims = a.body + a.head.dims_at;
  const unsigned long long* const stride = a.body + strides;
  long long offset = 0;
  if (a.head.narrow) {
    unsigned rest = (unsigned)index;
#pragma unroll 1
    for (unsigned d = last - 1; d > first; --d) {
      const unsigned long long division = dims[2 * d + 1];
      const unsigned quotient = fb_divide(rest, (unsigned)division, (unsigned)(division >> 32));
      offset += (long long)(rest - quotient * (unsigned)dims[2 * d]) * (long long)stride[d];
      rest = quotient;
    }
    return offset + (long long)rest * (long long)stride[first];
  }
  long long rest = index;
#pragma unroll 1
  for (unsigned d = last - 1; d > first; --d) {
    const long long extent = (long long)dims[2 * d];
    const long long quotient = rest / extent;
    offset += (rest - quotient * extent) * (long long)stride[d];
    rest = quotient;
  }
  return offset + rest * (long long)stride[first];
}

// The slots of a block: a thread's N elements of a slot lie in quads, neighbouring threads' beside
// each other, so that accesses of a warp meet no bank twice.
template <int N>
struct FbSlots {
  unsigned char* base;
  unsigned threads, thread;

  FB_FN_MEMBER FbQuad* quad(unsigned slot, unsigned q) const {
    return (FbQuad*)base + ((slot * (N / 4) + q) * threads + thread);
  }
  FB_FN_MEMBER unsigned* word(unsigned slot, unsigned e) const {
    if constexpr (N == 1) return (unsigned*)base + (slot * threads + thread);
    return quad(slot, e / 4)->w + e % 4;
  }
  FB_FN_MEMBER void get(unsigned slot, unsigned (&words)[N]) const {
    if constexpr (N == 1) {
      words[0] = *word(slot, 0);
    } else {
#pragma unroll
      for (int q = 0; q < N / 4; ++q) {
        const FbQuad four = *quad(slot, q);
#pragma unroll
        for (int n = 0; n < 4; ++n) words[4 * q + n] = four.w[n];
      }
    }
  }
  FB_FN_MEMBER void put(unsigned slot, const unsigned (&words)[N]) const {
    if constexpr (N == 1) {
      *word(slot, 0) = words[0];
    } else {
#pragma unroll
      for (int q = 0; q < N / 4; ++q) {
        FbQuad four;
#pragma unroll
        for (int n = 0; n < 4; ++n) four.w[n] = words[4 * q + n];
        *quad(slot, q) = four;
      }
    }
  }
};

// Where the elements of a thread are. `pass` is the first one's number among those of the thread.
// In a map:
template <typename Args>
struct FbMapPlace {
  static constexpr bool kStraight = true;
  const Args& a;
  long long start;
  unsigned threads, thread, pass;
  bool whole;  // by quads, all of them inside

  FB_FN_MEMBER long long index(unsigned e) const {
    return whole ? start + (((pass + e) / 4 * threads + thread) * 4 + (pass + e) % 4)
                 : start + ((pass + e) * threads + thread);
  }
  FB_FN_MEMBER bool inside(unsigned e) const { return index(e) < a.head.count; }
  FB_FN_MEMBER long long start_offset(unsigned) const { return 0; }
  FB_FN_MEMBER long long offset(unsigned e, unsigned strides) const {
    return fb_offset(a, 0, a.head.rank, index(e), strides);
  }
};
// In a row that is reduced:
template <typename Args>
struct FbRowPlace {
  static constexpr bool kStraight = false;
  const Args& a;
  long long row, base, start, end;
  unsigned group, member, pass;
  bool whole;

  FB_FN_MEMBER long long place(unsigned e) const {
    return start + (((pass + e) / 4 * group + member) * 4 + (pass + e) % 4);
  }
  FB_FN_MEMBER long long index(unsigned e) const {
    return base + (whole ? place(e) : offset(e, a.head.index_strides_at));
  }
  FB_FN_MEMBER bool inside(unsigned e) const { return place(e) < end; }
  FB_FN_MEMBER long long start_offset(unsigned strides) const {
    return fb_offset(a, 0, a.head.kept_dims, row, strides);
  }
  FB_FN_MEMBER long long offset(unsigned e, unsigned strides) const {
    return fb_offset(a, a.head.kept_dims, a.head.rank, place(e), strides);
  }
};

// The elements of every leaf on their way into the first slots.
template <int N, typename Args, typename Place>
FB_FN void fb_load(const Args& a, const FbSlots<N>& slots, const Place& place) {
  unsigned strides = a.head.strides_at;
#pragma unroll 1
  for (unsigned k = 0; k < a.head.leaves; ++k) {
    const unsigned* const leaf = (const unsigned*)a.body[k];
    if (N > 1 && place.whole) {
#pragma unroll
      for (int q = 0; q < N / 4; ++q) fb_copy_quad(slots.quad(k, q), leaf + place.index(4 * q));
    } else if (a.head.strided >> k & 1) {
      const unsigned* const first = leaf + place.start_offset(strides);
#pragma unroll 1
      for (unsigned e = 0; e < N; ++e) {
        const bool inside = place.inside(e);
        fb_copy_word(slots.word(k, e), inside ? first + place.offset(e, strides) : leaf, inside);
      }
      strides += a.head.rank;
    } else {
#pragma unroll 1
      for (unsigned e = 0; e < N; ++e) {
        const bool inside = place.inside(e);
        fb_copy_word(slots.word(k, e), inside ? leaf + place.index(e) : leaf, inside);
      }
    }
  }
}

// Operations over the accumulator, written out for its elements.
#define FB_EACH(...)            \
  _Pragma("unroll")             \
  for (int e = 0; e < N; ++e) { \
    __VA_ARGS__;                \
  }                             \
  break
#define FB_ACC(type) fb_value<fb_##type>(acc[e])
#define FB_WITH_SCALAR(name, type, form, first, second)  \
  case kFb_##name##_##type##_##form: {                   \
    const fb_##type s = fb_value<fb_##type>(scalar(b));  \
    FB_EACH(acc[e] = fb_word(fb_##name(first, second))); \
  }
#define FB_WITH_SLOT(name, type, form, first, second)        \
  case kFb_##name##_##type##_##form: {                       \
    unsigned slot[N];                                        \
    slots.get(b, slot);                                      \
    FB_EACH(const fb_##type s = fb_value<fb_##type>(slot[e]); \
            acc[e] = fb_word(fb_##name(first, second)));     \
  }
#define FB_FORWARD(name, type)                             \
  FB_WITH_SCALAR(name, type, s, FB_ACC(type), s)           \
  FB_WITH_SLOT(name, type, m, FB_ACC(type), s)             \
  case kFb_##name##_##type##_a:                            \
    FB_EACH(acc[e] = fb_word(fb_##name(FB_ACC(type), FB_ACC(type))));
#define FB_BOTH_WAYS(name, type)                  \
  FB_FORWARD(name, type)                          \
  FB_WITH_SCALAR(name, type, rs, s, FB_ACC(type)) \
  FB_WITH_SLOT(name, type, rm, s, FB_ACC(type))
#define FB_ONE(name, type)  \
  case kFb_##name##_##type: \
    FB_EACH(acc[e] = fb_word(fb_##name(FB_ACC(type))));

// Runs the code over a thread's N elements; `acc` ends as the value to reduce.
template <int N, typename Args, typename Place>
FB_FN void fb_interpret(const Args& a, const FbSlots<N>& slots, const Place& place,
                        unsigned (&acc)[N]) {
  const unsigned* const words = (const unsigned*)a.body;
  const unsigned* const code = words + a.head.code_at;
  const unsigned* const scalars = words + a.head.scalars_at;
  const auto scalar = [&](unsigned operand) { return scalars[operand & (kFbScalar - 1)]; };
  // Four elements of an operand, and one.
  const auto four_of = [&](unsigned operand, int q) {
    if (operand & kFbScalar) {
      const unsigned s = scalar(operand);
      return FbQuad{{s, s, s, s}};
    }
    return *slots.quad(operand, q);
  };
  const auto one_of = [&](unsigned operand, unsigned e) {
    return operand & kFbScalar ? scalar(operand) : *slots.word(operand, e);
  };
  unsigned next = code[0];
#pragma unroll 1
  for (unsigned pc = 1;; ++pc) {
    const unsigned instruction = next;
    next = code[pc];  // on its way while this one runs; one word follows the end
    const unsigned b = instruction >> kFbOperandBits & kFbOperandMask;
    const unsigned code_of = instruction >> kFbCodeShift;
    if (code_of < kFbEnd) {
      switch (code_of) {
        FB_COMMUTING_FIRST(FB_FORWARD)
        FB_ORDERED_FIRST(FB_BOTH_WAYS)
      }
      continue;
    }
    switch (code_of) {
      case kFbEnd:
        return;
      case kFbLoad:
        if (b & kFbScalar) {
          const unsigned s = scalar(b);
#pragma unroll
          for (int e = 0; e < N; ++e) acc[e] = s;
        } else {
          slots.get(b, acc);
        }
        break;
      case kFbStore:
        slots.put(b, acc);
        break;
      case kFbOut: {
        unsigned* const out = (unsigned*)a.body[a.head.outputs_at + b];
        if (N > 1 && place.whole) {
#pragma unroll
          for (int q = 0; q < N / 4; ++q) {
            FbQuad four;
#pragma unroll
            for (int n = 0; n < 4; ++n) four.w[n] = acc[4 * q + n];
            *(FbQuad*)(out + place.index(4 * q)) = four;
          }
        } else if constexpr (Place::kStraight) {
#pragma unroll
          for (int e = 0; e < N; ++e) {
            if (place.inside(e)) out[place.index(e)] = acc[e];
          }
        } else {
          slots.put(a.head.scratch, acc);
#pragma unroll 1
          for (unsigned e = 0; e < N; ++e) {
            if (place.inside(e)) out[place.index(e)] = *slots.word(a.head.scratch, e);
          }
        }
        break;
      }
      case kFbSingle: {
        const unsigned s = *(const unsigned*)a.body[a.head.singles_at + b];
#pragma unroll
        for (int e = 0; e < N; ++e) acc[e] = s;
        break;
      }

      FB_COMMUTING(FB_FORWARD)
      FB_ORDERED(FB_BOTH_WAYS)
      FB_UNARY(FB_ONE)

// Registers cannot be indexed, so loops over elements go through the scratch slot.
#define FB_LOOP(...)                                         \
  slots.put(a.head.scratch, acc);                            \
  _Pragma("unroll 1")                                        \
  for (unsigned e = 0; e < N; ++e) {                         \
    unsigned* const word = slots.word(a.head.scratch, e);    \
    __VA_ARGS__;                                             \
  }                                                          \
  slots.get(a.head.scratch, acc);                            \
  break
#define FB_WORD(type) fb_value<fb_##type>(*word)
#define FB_OPERAND(type, operand) fb_value<fb_##type>(one_of(operand, e))
#define FB_HEAVY_ONE(name, type) \
  case kFb_##name##_##type:      \
    FB_LOOP(*word = fb_word(fb_##name(FB_WORD(type))));
#define FB_HEAVY_TWO(name, type) \
  case kFb_##name##_##type:      \
    FB_LOOP(*word = fb_word(fb_##name(FB_WORD(type), FB_OPERAND(type, b))));
#define FB_DRAW(name, type)                                               \
  case kFb_##name##_##type:                                               \
    FB_LOOP(*word = fb_word(fb_##name(FB_WORD(type), FB_OPERAND(type, b), \
                                      (unsigned long long)place.index(e))));
      FB_HEAVY_UNARY(FB_HEAVY_ONE)
      FB_HEAVY_BINARY(FB_HEAVY_TWO)
      FB_RANDOM(FB_DRAW)

#define FB_CHOOSE(name, type)                                                           \
  case kFb_##name##_##type: {                                                           \
    const unsigned c = instruction & kFbOperandMask;                                    \
    if constexpr (N == 1) {                                                             \
      acc[0] = (unsigned)fb_##name(fb_value<fb_##type>(acc[0]), (int)one_of(b, 0),      \
                                   (int)one_of(c, 0));                                  \
    } else {                                                                            \
      _Pragma("unroll")                                                                 \
      for (int q = 0; q < N / 4; ++q) {                                                 \
        const FbQuad yes = four_of(b, q), no = four_of(c, q);                           \
        _Pragma("unroll")                                                               \
        for (int n = 0; n < 4; ++n) {                                                   \
          acc[4 * q + n] = (unsigned)fb_##name(fb_value<fb_##type>(acc[4 * q + n]),     \
                                               (int)yes.w[n], (int)no.w[n]);            \
        }                                                                               \
      }                                                                                 \
    }                                                                                   \
    break;                                                                              \
  }
      FB_CHOICE(FB_CHOOSE)
    }
  }
}

// A thread takes kFbMapElements elements, N at a time.
template <int N, typename Args>
FB_FN void fb_map(const Args& a) {
  const unsigned thread = threadIdx.x, threads = blockDim.x;
  const long long start = (long long)blockIdx.x * (threads * kFbMapElements);
  const FbSlots<N> slots{fb_dynamic_shared(), threads, thread};
  const bool whole = N > 1 && a.head.vector && start + threads * kFbMapElements <= a.head.count;
#pragma unroll 1
  for (unsigned pass = 0; pass < kFbMapElements; pass += N) {
    const FbMapPlace<Args> place{a, start, threads, thread, pass, whole};
    fb_load<N>(a, slots, place);
    fb_wait();
    unsigned acc[N];
    fb_interpret<N>(a, slots, place, acc);
  }
}

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
FB_FN void* fb_fold() {
  __shared__ unsigned long long fold[256];
  return fold;
}

// What the threads of a row and then the blocks of a tile have summed, by the tree of the generated
// kernels.
template <typename T, typename Args>
FB_FN void fb_finish(const Args& a, typename FbSum<T>::Sum total, long long row, bool here,
                     unsigned member, unsigned column) {
  typedef typename FbSum<T>::Sum Sum;
  Sum* const fold = (Sum*)fb_fold();
  __shared__ bool last;
  const unsigned thread = threadIdx.x;
  const unsigned group = 1u << a.head.group_log2, columns = 1u << a.head.columns_log2;
  const unsigned tile = blockIdx.x / a.head.splits, split = blockIdx.x % a.head.splits;
  const unsigned pitch = a.head.inner ? 1 : columns;
  const auto fold_threads = [&] {
    fold[thread] = total;
    for (unsigned half = group >> 1; half > 0; half >>= 1) {
      __syncthreads();
      if (member < half) {
        total = total + fold[thread + half * pitch];
        fold[thread] = total;
      }
    }
  };
  fold_threads();
  if (a.head.splits > 1) {
    Sum* const partials = (Sum*)a.head.partials;
    const unsigned tiles = gridDim.x / a.head.splits;
    const unsigned slot = tile * columns + column;
    if (member == 0) partials[split * tiles * columns + slot] = total;
    __threadfence();
    __syncthreads();
    if (thread == 0) {
      last = atomicInc(a.head.tickets + tile, a.head.splits - 1) == a.head.splits - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    total = 0;
#pragma unroll 4
    for (unsigned other = member; other < a.head.splits; other += group) {
      total = total + ((const volatile Sum*)partials)[other * tiles * columns + slot];
    }
    fold_threads();
  }
  if (member == 0 && here) {
    typedef typename FbSum<T>::Result Result;
    const Result value = (Result)(a.head.mean ? total / (Sum)a.head.reduced : total);
    ((Result*)a.head.result)[row] = value;
    if constexpr (sizeof(Result) == 4) {
      // One store, so that the host sees both words or neither.
      if (a.head.mailbox) {
        *(volatile unsigned long long*)a.head.mailbox =
            (unsigned long long)a.head.ticket << 32 | fb_word(value);
      }
    }
  }
}

// ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7)) of a thread's eight, from the N at hand: `held`
// keeps what waits for its other half.
template <int N, typename Term>
FB_FN void fb_add_step(const Term (&t)[N], unsigned pass, Term (&held)[3], Term& sum) {
  if constexpr (N == 8) {
    sum = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
  } else {
    static_assert(N == 1, "");
    Term value = t[0];
    if ((pass & 1) == 0) {
      held[0] = value;
      return;
    }
    value = held[0] + value;
    if ((pass & 2) == 0) {
      held[1] = value;
      return;
    }
    value = held[1] + value;
    if ((pass & 4) == 0) {
      held[2] = value;
      return;
    }
    sum = held[2] + value;
  }
}

// The term of an element that lies behind the row's end is 0.
template <typename T, int N, typename Place>
FB_FN void fb_add(const unsigned (&acc)[N], const Place& place, typename FbSum<T>::Term (&held)[3],
                  typename FbSum<T>::Term& sum) {
  typedef typename FbSum<T>::Term Term;
  Term t[N];
#pragma unroll
  for (int e = 0; e < N; ++e) t[e] = place.inside(e) ? (Term)fb_value<T>(acc[e]) : 0;
  fb_add_step<N>(t, place.pass, held, sum);
}

template <int N, typename Args>
FB_FN void fb_reduce(const Args& a) {
  const unsigned thread = threadIdx.x;
  const unsigned group = 1u << a.head.group_log2, columns = 1u << a.head.columns_log2;
  const unsigned tile = blockIdx.x / a.head.splits, split = blockIdx.x % a.head.splits;
  const unsigned member = a.head.inner ? thread & (group - 1) : thread >> a.head.columns_log2;
  const unsigned column = a.head.inner ? thread >> a.head.group_log2 : thread & (columns - 1);
  const long long row = (long long)tile * columns + column;
  const bool here = row < a.head.kept;
  const long long begin = split * a.head.chunk;
  const long long whole_end = begin + a.head.chunk;
  const long long end = !here ? begin : whole_end < a.head.reduced ? whole_end : a.head.reduced;
  const FbSlots<N> slots{fb_dynamic_shared(), blockDim.x, thread};
  const long long base =
      here ? fb_offset(a, 0, a.head.kept_dims, row, a.head.index_strides_at) : 0;
  double real_total = 0;
  unsigned long long total = 0;
#pragma unroll 1
  for (long long start = begin; start < end; start += group * kFbElements) {
    const bool whole = N > 1 && a.head.vector && start + group * kFbElements <= end;
    float real_held[3] = {}, real_sum = 0;
    unsigned long long held[3] = {}, sum = 0;
#pragma unroll 1
    for (unsigned pass = 0; pass < kFbElements; pass += N) {
      const FbRowPlace<Args> place{a, row, base, start, end, group, member, pass, whole};
      fb_load<N>(a, slots, place);
      fb_wait();
      unsigned acc[N];
      fb_interpret<N>(a, slots, place, acc);
      if (a.head.real) {
        fb_add<float>(acc, place, real_held, real_sum);
      } else {
        fb_add<int>(acc, place, held, sum);
      }
    }
    real_total = real_total + real_sum;
    total = total + sum;
  }
  if (a.head.real) {
    fb_finish<float>(a, real_total, row, here, member, column);
  } else {
    fb_finish<int>(a, total, row, here, member, column);
  }
}
