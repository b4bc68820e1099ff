// Which elements a thread takes, where they lie in memory, and how they come into the slots.

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

// Where the elements of a thread are. `pass` is the first one's number among those of the thread,
// `local(e)` the place of element e after `start`, `left` what is inside of that. `piece` elements
// from a multiple of `piece` on follow each other by one stride in every leaf.
// In a map:
template <typename Args>
struct FbMapPlace {
  static constexpr bool kStraight = true;
  const Args& a;
  long long start;
  unsigned left, threads, thread, pass, piece;

  FB_FN_MEMBER unsigned local(unsigned e) const {
    return piece > 1 ? ((pass + e) / 4 * threads + thread) * 4 + (pass + e) % 4
                     : (pass + e) * threads + thread;
  }
  // From an element of four to the next.
  FB_FN_MEMBER unsigned step() const { return piece > 1 ? 1 : threads; }
  FB_FN_MEMBER bool whole() const { return left == threads * kFbMapElements; }
  FB_FN_MEMBER bool inside(unsigned e) const { return local(e) < left; }
  FB_FN_MEMBER long long index(unsigned e) const { return start + local(e); }
  FB_FN_MEMBER long long first(const FbBuffer&) const { return 0; }
  FB_FN_MEMBER long long offset(const FbBuffer& leaf, unsigned e) const {
    return leaf.strided ? fb_offset(a, 0, a.head.rank, index(e), leaf.strides_at) : index(e);
  }
};
// In a row that is reduced:
template <typename Args>
struct FbRowPlace {
  static constexpr bool kStraight = false;
  const Args& a;
  long long row, base, start;
  unsigned left, group, member, pass, piece;

  FB_FN_MEMBER unsigned local(unsigned e) const {
    const unsigned run = a.head.run_log2, n = pass + e;
    return (((n >> run) * group + member) << run) + (n & ((1U << run) - 1));
  }
  FB_FN_MEMBER bool whole() const { return left == group * kFbElements; }
  FB_FN_MEMBER bool inside(unsigned e) const { return local(e) < left; }
  FB_FN_MEMBER long long index(unsigned e) const { return base + walk(e, a.head.index_strides_at); }
  FB_FN_MEMBER long long first(const FbBuffer& leaf) const {
    return leaf.strided ? fb_offset(a, 0, a.head.kept_dims, row, leaf.strides_at) : base;
  }
  FB_FN_MEMBER long long offset(const FbBuffer& leaf, unsigned e) const {
    return walk(e, leaf.strides_at);
  }
  FB_FN_MEMBER long long walk(unsigned e, unsigned strides) const {
    return fb_offset(a, a.head.kept_dims, a.head.rank, start + local(e), strides);
  }
};

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

// The elements of a leaf on their way into its slot, as they lie in memory. What is not inside
// stays what it was.
template <int N, bool kTyped, typename Args, typename Place>
FB_FN void fb_load_leaf(const Args& a, const FbBuffer& leaf, const FbSlots<N>& slots,
                        const Place& place) {
  const unsigned size = kTyped ? leaf.size_log2 : 2;
  const unsigned char* const first =
      (const unsigned char*)leaf.address + (place.first(leaf) << size);
  const bool whole = place.whole();
  if (leaf.straight && whole && place.piece == 4) {
    const unsigned char* const from = first + (place.start << size);
#pragma unroll
    for (unsigned q = 0; q < N / 4; ++q) {
      const unsigned char* const quad = from + ((unsigned long long)place.local(4 * q) << size);
      if (size == 2) fb_copy_16(slots.quad(leaf.slot, q), quad);
      if (kTyped && size == 1) fb_copy_8(slots.quad(leaf.slot, q), quad);
      if (kTyped && size == 0) fb_copy_4(slots.quad(leaf.slot, q), quad);
      if (kTyped && size == 3) {
        fb_copy_16(slots.quad(leaf.slot, 2 * q), quad);
        fb_copy_16(slots.quad(leaf.slot, 2 * q + 1), quad + 16);
      }
    }
    return;
  }
  const long long stride = place.piece > 1 && leaf.strides_at > 0
                               ? (long long)a.body[leaf.strides_at + a.head.rank - 1]
                               : 1;
  if (whole && place.piece == 4 && size == 2) {
#pragma unroll 1
    for (unsigned q = 0; q < N / 4; ++q) {
      const unsigned char* const from = first + (place.offset(leaf, 4 * q) << 2);
      FbQuad* const quad = slots.quad(leaf.slot, q);
      if (leaf.packed) {
        fb_copy_16(quad, from);
        continue;
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) fb_copy_4(&quad->w[n], from + n * (stride << 2));
    }
    return;
  }
  const unsigned piece_log2 = place.piece >> 1;  // of 1, 2 and 4
  const unsigned most_log2 = kTyped && piece_log2 + size > 4 ? 4 - size : piece_log2;
#pragma unroll 1
  for (unsigned e = 0; e < N; e += place.piece) {
    if (!whole && !place.inside(e)) continue;
    const bool all = whole || place.inside(e + place.piece - 1);
    const unsigned step_log2 = all && leaf.packed ? most_log2 : 0;
    const unsigned char* from = first + (place.offset(leaf, e) << size);
#pragma unroll 1
    for (unsigned n = 0; n < place.piece; n += 1U << step_log2) {
      if (all || place.inside(e + n)) {
        void* const to = kTyped && size == 3 ? (void*)slots.wide(leaf.slot, e + n)
                                             : slots.raw(leaf.slot, e + n, size);
        fb_copy(to, from, size + step_log2);
      }
      from += stride << (size + step_log2);
    }
  }
}

// From elements of one or two bytes to words.
template <int N>
FB_FN void fb_widen_leaf(const FbBuffer& leaf, const FbSlots<N>& slots) {
  const auto each = [&](const auto& word) {
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      FbQuad* const quad = slots.quad(leaf.slot, q);
      const FbQuad raw = *quad;
      *quad = FbQuad{{word(raw, 0), word(raw, 1), word(raw, 2), word(raw, 3)}};
    }
  };
  const auto half = [](const FbQuad& raw, int n) {
    return (unsigned short)(raw.w[n / 2] >> 16 * (n % 2));
  };
  switch (leaf.form) {
    case kFbByte:
      each([](const FbQuad& raw, int n) { return raw.w[0] >> 8 * n & 255; });
      break;
    case kFbBoolean:
      each([](const FbQuad& raw, int n) { return fb_word((raw.w[0] >> 8 * n & 255) != 0); });
      break;
    case kFbF16:
      each([&](const FbQuad& raw, int n) { return fb_word(FbHalf{half(raw, n)}); });
      break;
    default:
      each([&](const FbQuad& raw, int n) { return fb_word(FbBfloat{half(raw, n)}); });
  }
}

// The elements of every leaf in their slots.
template <int N, bool kTyped, typename Args, typename Place>
FB_FN void fb_load(const Args& a, const FbSlots<N>& slots, const Place& place) {
  const FbBuffer* const leaves = (const FbBuffer*)a.body;
#pragma unroll 1
  for (unsigned k = 0; k < a.head.leaves; ++k) fb_load_leaf<N, kTyped>(a, leaves[k], slots, place);
  fb_wait();
  if (!kTyped || !a.head.widened) return;
#pragma unroll 1
  for (unsigned k = 0; k < a.head.leaves; ++k) {
    if (leaves[k].size_log2 < 2) fb_widen_leaf<N>(leaves[k], slots);
  }
}

// The accumulator to an output of words, or of less. In a row, whose elements lie anywhere, it goes
// through slot `work`, since registers cannot be indexed.
template <int N, bool kTyped, typename Place>
FB_FN void fb_store(const FbBuffer& out, unsigned work, const unsigned (&acc)[N],
                    const FbSlots<N>& slots, const Place& place) {
  const unsigned size = kTyped ? out.size_log2 : 2;
  unsigned char* const first = (unsigned char*)out.address;
  const bool together = out.packed && place.piece == 4 && place.whole();
  if (size == 2 && together) {
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      FbQuad four;
#pragma unroll
      for (int n = 0; n < 4; ++n) four.w[n] = acc[4 * q + n];
      *(FbQuad*)(first + (place.index(4 * q) << 2)) = four;
    }
    return;
  }
  unsigned bits[N];
#pragma unroll
  for (int e = 0; e < N; ++e) bits[e] = acc[e];
  if (kTyped && out.form == kFbF16) {
#pragma unroll
    for (int e = 0; e < N; ++e) bits[e] = fb_round_f16(FB_FLOAT(acc[e])).bits;
  } else if (kTyped && out.form == kFbBf16) {
#pragma unroll
    for (int e = 0; e < N; ++e) bits[e] = acc[e] >> 16;  // has been rounded
  }
  if (kTyped && together) {
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      unsigned char* const to = first + (place.index(4 * q) << size);
      const unsigned* const four = bits + 4 * q;
      if (size == 1) {
        *(FbTwo*)to = FbTwo{{four[0] | four[1] << 16, four[2] | four[3] << 16}};
      } else {
        *(unsigned*)to = four[0] | four[1] << 8 | four[2] << 16 | four[3] << 24;
      }
    }
    return;
  }
  const auto put = [&](unsigned char* to, unsigned word) {
    if (size == 2) *(unsigned*)to = word;
    if (size == 1) *(unsigned short*)to = (unsigned short)word;
    if (size == 0) *to = (unsigned char)word;
  };
  if constexpr (Place::kStraight) {
    const unsigned step = place.step();
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      unsigned local = place.local(4 * q);
      unsigned char* to = first + ((place.start + local) << size);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        if (local < place.left) put(to, bits[4 * q + n]);
        local += step;
        to += step << size;
      }
    }
  } else {
    slots.put(work, bits);
#pragma unroll 1
    for (unsigned e = 0; e < N; ++e) {
      if (place.inside(e)) {
        put(first + (place.index(e) << size), *(const unsigned*)slots.raw(work, e, 2));
      }
    }
  }
}
