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
// `local(e)` the place of element e after `start`, `left` what is inside of that. The `piece`
// elements of a piece follow each other by one stride in every leaf. Where they have 16 bytes,
// neighbouring threads access neighbouring 16 bytes: `sixteen(k, size)` is where the k-th of a
// thread begin in a straight leaf, in bytes after `first`, and `out_sixteen` in an output.
// In a map, where pieces of words have four elements or one:
template <bool kTyped, typename Args>
struct FbMapPlace {
  static constexpr bool kStraight = true, kTile = false;
  const Args& a;
  long long start;
  unsigned left, threads, thread, pass, piece, piece_log2;

  FB_FN_MEMBER unsigned local(unsigned e) const {
    const unsigned n = pass + e;
    if (!kTyped && piece > 1) return (n / 4 * threads + thread) * 4 + n % 4;
    if (!kTyped) return n * threads + thread;
    return (((n >> piece_log2) * threads + thread) << piece_log2) + (n & (piece - 1));
  }
  // From an element to the next, of two elements from an even one on, or of four words.
  FB_FN_MEMBER unsigned step() const { return piece > 1 ? 1 : threads; }
  FB_FN_MEMBER long long sixteen(unsigned k, unsigned size) const {
    return (start << size) + (((pass << size) / 16 + k) * threads + thread) * 16;
  }
  FB_FN_MEMBER long long out_sixteen(const FbBuffer&, unsigned k, unsigned size) const {
    return sixteen(k, size);
  }
  FB_FN_MEMBER bool whole() const { return left == threads * kFbMapElements; }
  FB_FN_MEMBER bool inside(unsigned e) const { return local(e) < left; }
  FB_FN_MEMBER long long index(unsigned e) const { return start + local(e); }
  FB_FN_MEMBER long long first(const FbBuffer&) const { return 0; }
  FB_FN_MEMBER long long offset(const FbBuffer& leaf, unsigned e) const {
    return leaf.strided ? fb_offset(a, 0, a.head.rank, index(e), leaf.strides_at) : index(e);
  }
};
// In a row that is reduced, of which a thread takes kAtOnce elements at once:
template <unsigned kAtOnce, typename Args>
struct FbRowPlace {
  static constexpr bool kStraight = false, kTile = false;
  const Args& a;
  long long row, base, start;
  unsigned left, group, member, pass, piece, piece_log2;

  FB_FN_MEMBER long long sixteen(unsigned k, unsigned size) const {
    return (start << size) + ((long long)local(16 * k >> size) << size);
  }
  FB_FN_MEMBER long long out_sixteen(const FbBuffer& out, unsigned k, unsigned size) const {
    return out.straight ? (base << size) + sixteen(k, size) : index(16 * k >> size) << size;
  }
  FB_FN_MEMBER unsigned local(unsigned e) const {
    const unsigned run = a.head.run_log2, n = pass + e;
    return (((n >> run) * group + member) << run) + (n & ((1U << run) - 1));
  }
  FB_FN_MEMBER bool whole() const { return left == group * kAtOnce; }
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

// A block's tile: a pass of its threads covers all rows of the innermost dimension and a part of the
// other one, patch beside patch.
template <typename Args>
struct FbTileOfBlock {
  const Args& a;
  long long other;  // the index over the other dimensions
  long long across, inner;  // the coordinates of the first element

  explicit FB_FN_MEMBER FbTileOfBlock(const Args& args) : a(args) {
    const unsigned rest = blockIdx.x / a.head.inner_tiles;
    inner = (long long)(blockIdx.x - rest * a.head.inner_tiles) << inner_log2();
    other = rest / a.head.across_tiles;
    across = (long long)(rest - (unsigned)other * a.head.across_tiles) << a.head.across_log2;
  }
  FB_FN_MEMBER unsigned inner_log2() const { return a.head.wide_log2 + 2; }
  FB_FN_MEMBER long long extent(unsigned from_last) const {
    return (long long)a.body[a.head.dims_at + 2 * (a.head.rank - 1 - from_last)];
  }
  // The index of the first element, and what is from there to the next one across.
  FB_FN_MEMBER long long step() const {
    return (long long)a.body[a.head.index_strides_at + a.head.rank - 2];
  }
  FB_FN_MEMBER long long first() const {
    return fb_offset(a, 0, a.head.rank - 2, other, a.head.index_strides_at) + across * step() +
           inner;
  }
  FB_FN_MEMBER FbStage stage(const FbBuffer& leaf) const {
    return {fb_dynamic_shared() + leaf.stage_at * 16, leaf.size_log2, a.head.across_log2, 2};
  }
};

// A patch, where no leaf is straight and sixteen bytes are those of an output:
template <typename Args>
struct FbTilePlace : FbPatches<kFbPatch> {
  static constexpr bool kStraight = false, kTile = true;
  const FbTileOfBlock<Args>& tile;
  const Args& a;
  unsigned piece, piece_log2;

  explicit FB_FN_MEMBER FbTilePlace(const FbTileOfBlock<Args>& of)
      : FbPatches<kFbPatch>(of.a.head.wide_log2, of.a.head.across_log2, of.first(), of.step(),
                            of.extent(0) - of.inner, of.extent(1) - of.across),
        tile(of),
        a(of.a),
        piece(a.head.piece),
        piece_log2(a.head.piece_log2) {}
  FB_FN_MEMBER long long first(const FbBuffer&) const { return 0; }
  FB_FN_MEMBER long long offset(const FbBuffer& leaf, unsigned e) const {
    if (!leaf.strided) return index(e);
    const unsigned long long* const last = a.body + leaf.strides_at + a.head.rank - 1;
    return fb_offset(a, 0, a.head.rank - 2, tile.other, leaf.strides_at) +
           (tile.across + column + e / kFbPatch) * (long long)last[-1] +
           (tile.inner + patch * kFbPatch + e % kFbPatch) * (long long)last[0];
  }
  FB_FN_MEMBER long long sixteen(unsigned k, unsigned size) const {
    return index(16 * k >> size) << size;
  }
  FB_FN_MEMBER long long out_sixteen(const FbBuffer&, unsigned k, unsigned size) const {
    return sixteen(k, size);
  }
};

// The parts of the staged leaves on their way into shared memory.
template <typename Args>
FB_FN void fb_stage_leaves(const FbTileOfBlock<Args>& tile) {
  const Args& a = tile.a;
  const FbBuffer* const leaves = (const FbBuffer*)a.body;
  const unsigned rows = 1U << tile.inner_log2(), columns = 1U << a.head.across_log2;
  const long long rows_left = tile.extent(0) - tile.inner;
  const long long left = tile.extent(1) - tile.across;
#pragma unroll 1
  for (unsigned k = 0; k < a.head.leaves; ++k) {
    const FbBuffer& leaf = leaves[k];
    if (!leaf.staged) continue;
    const unsigned size = leaf.size_log2;
    const unsigned long long* const last = a.body + leaf.strides_at + a.head.rank - 1;
    const long long row_step = (long long)last[0], step = (long long)last[-1];
    const long long first = fb_offset(a, 0, a.head.rank - 2, tile.other, leaf.strides_at) +
                            tile.across * step + tile.inner * row_step;
    fb_stage(tile.stage(leaf),
             {(const unsigned char*)leaf.address + (first << size), row_step << size, step << size,
              a.head.copy_log2},
             rows, rows_left < rows ? (unsigned)rows_left : rows,
             left < columns ? (unsigned)left : columns);
  }
  fb_wait();
  __syncthreads();
}

// The elements of a piece that a thread takes together, N at most.
template <int N, typename Place>
FB_FN unsigned fb_piece(const Place& place) {
  return N == kFbMapElements || place.piece < N ? place.piece : N;
}
template <int N, typename Place>
FB_FN unsigned fb_piece_log2(const Place& place) {
  constexpr unsigned kMost = N == 4 ? 2 : N == 8 ? 3 : 4;
  return N == kFbMapElements || place.piece_log2 < kMost ? place.piece_log2 : kMost;
}

// The elements of a leaf on their way into its slot, as they lie in memory. What is not inside
// stays what it was.
template <int N, bool kTyped, typename Args, typename Place>
FB_FN void fb_load_leaf(const Args& a, const FbBuffer& leaf, const FbSlots<N>& slots,
                        const Place& place) {
  const unsigned size = kTyped ? leaf.size_log2 : 2;
  const unsigned char* const first =
      (const unsigned char*)leaf.address + (place.first(leaf) << size);
  const unsigned piece = kTyped ? fb_piece<N>(place) : place.piece;
  const unsigned piece_log2 = kTyped ? fb_piece_log2<N>(place) : piece >> 1;  // of 4 and 1
  const unsigned width_log2 = piece_log2 + size;  // of a piece, in bytes
  const bool whole = place.whole();
  if (!kTyped && leaf.straight && whole && piece == 4) {
#pragma unroll
    for (unsigned k = 0; k < N / 4; ++k) {
      fb_copy_16(slots.quad(leaf.slot, k), first + place.sixteen(k, 2));
    }
    return;
  }
  if (kTyped && leaf.packed && whole && width_log2 >= 4) {
#pragma unroll 1
    for (unsigned k = 0; k < (N << size) / 16; ++k) {
      const long long at =
          leaf.straight ? place.sixteen(k, size) : place.offset(leaf, 16 * k >> size) << size;
      fb_copy_16(slots.quad(leaf.slot, k), first + at);
    }
    return;
  }
  if constexpr (kTyped && !Place::kTile) {
    if (leaf.straight && whole) {
#pragma unroll 1
      for (unsigned e = 0; e < N; e += piece) {
        fb_copy(slots.raw(leaf.slot, e, size), first + ((place.start + place.local(e)) << size),
                width_log2);
      }
      return;
    }
  }
  const long long stride =
      piece > 1 && leaf.strides_at > 0 ? (long long)a.body[leaf.strides_at + a.head.rank - 1] : 1;
  if (whole && piece == 4 && size == 2) {
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
  const unsigned most_log2 = kTyped && width_log2 > 4 ? 4 - size : piece_log2;
#pragma unroll 1
  for (unsigned e = 0; e < N; e += piece) {
    if (!whole && !place.inside(e)) continue;
    const bool all = whole || place.inside(e + piece - 1);
    const unsigned step_log2 = all && leaf.packed ? most_log2 : 0;
    const unsigned char* from = first + (place.offset(leaf, e) << size);
#pragma unroll 1
    for (unsigned n = 0; n < piece; n += 1U << step_log2) {
      if (all || place.inside(e + n)) {
        fb_copy(slots.raw(leaf.slot, e + n, size), from, size + step_log2);
      }
      from += stride << (size + step_log2);
    }
  }
}

// Word 4q + n of a slot, and of `acc`, from the word of memory that has the element.
template <unsigned kSizeLog2, int N, typename Word>
FB_FN void fb_widen(const FbBuffer& leaf, const FbSlots<N>& slots, unsigned (&acc)[N],
                    const Word& word) {
  constexpr int kQuads = ((N << kSizeLog2) + 15) / 16;
  FbQuad raw[kQuads];  // the first words take their place
#pragma unroll
  for (int q = 0; q < kQuads; ++q) raw[q] = *slots.quad(leaf.slot, q);
#pragma unroll
  for (int e = 0; e < N; ++e) {
    const int at = e << kSizeLog2;
    acc[e] = word(raw[at / 16].w[at % 16 / 4], (unsigned)e % 4);
  }
  if (leaf.read) slots.put(leaf.slot, acc);
}

// Element n of what a word holds of elements of one or two bytes, as a word.
FB_FN unsigned fb_byte(unsigned raw, unsigned n) { return __byte_perm(raw, 0, 0x4440 + n % 4); }
FB_FN unsigned fb_truth(unsigned raw, unsigned n) {
  // 1 for each of four bytes that is not 0.
  return fb_byte((((raw & 0x7f7f7f7fU) + 0x7f7f7f7fU) | raw) >> 7 & 0x01010101U, n);
}
FB_FN unsigned fb_half(unsigned raw, unsigned n) {
  return fb_word(FbHalf{(unsigned short)(raw >> 16 * (n % 2))});
}
FB_FN unsigned fb_bfloat(unsigned raw, unsigned n) {
  return fb_word(FbBfloat{(unsigned short)(raw >> 16 * (n % 2))});
}

// From elements of one or two bytes to words, in `acc` too.
template <int N>
FB_FN void fb_widen_leaf(const FbBuffer& leaf, const FbSlots<N>& slots, unsigned (&acc)[N]) {
  switch (leaf.form) {
    case kFbByte:
      return fb_widen<0>(leaf, slots, acc, fb_byte);
    case kFbBoolean:
      return fb_widen<0>(leaf, slots, acc, fb_truth);
    case kFbF16:
      return fb_widen<1>(leaf, slots, acc, fb_half);
    default:
      fb_widen<1>(leaf, slots, acc, fb_bfloat);
  }
}

// From a patch of a stage to the slot, and to `acc` what has one word.
template <unsigned kSizeLog2, int N, typename Place, typename Word>
FB_FN void fb_from_stage(const FbBuffer& leaf, const FbSlots<N>& slots, const Place& place,
                   unsigned (&acc)[N], const Word& word) {
  const FbStage stage = place.tile.stage(leaf);
#pragma unroll
  for (unsigned n = 0; n < kFbPatch; ++n) {
    unsigned words[1U << kSizeLog2];
    fb_patch_row<kSizeLog2>(stage, place.patch, n, place.column, words);
#pragma unroll
    for (unsigned m = 0; m < kFbPatch; ++m) {
      acc[m * kFbPatch + n] = word(words[(m << kSizeLog2) / 4], m);
    }
  }
  if (leaf.read) slots.put(leaf.slot, acc);
}
template <int N, typename Place>
FB_FN void fb_leaf_from_stage(const FbBuffer& leaf, const FbSlots<N>& slots, const Place& place,
                        unsigned (&acc)[N]) {
  switch (leaf.form) {
    case kFbByte:
      return fb_from_stage<0>(leaf, slots, place, acc, fb_byte);
    case kFbBoolean:
      return fb_from_stage<0>(leaf, slots, place, acc, fb_truth);
    case kFbF16:
      return fb_from_stage<1>(leaf, slots, place, acc, fb_half);
    case kFbBf16:
      return fb_from_stage<1>(leaf, slots, place, acc, fb_bfloat);
    case kFbWide: {
#pragma unroll
      for (unsigned n = 0; n < kFbPatch; n += 2) {
        unsigned even[8], odd[8];
        fb_patch_row<3>(place.tile.stage(leaf), place.patch, n, place.column, even);
        fb_patch_row<3>(place.tile.stage(leaf), place.patch, n + 1, place.column, odd);
#pragma unroll
        for (unsigned m = 0; m < kFbPatch; ++m) {
          *slots.quad(leaf.slot, (m * kFbPatch + n) / 2) =
              FbQuad{{even[2 * m], even[2 * m + 1], odd[2 * m], odd[2 * m + 1]}};
        }
      }
      return;
    }
    default:
      fb_from_stage<2>(leaf, slots, place, acc, [](unsigned raw, unsigned) { return raw; });
  }
}

// The elements of every leaf in their slots, and the last leaf's in the accumulator.
template <int N, bool kTyped, typename Args, typename Place>
FB_FN void fb_load(const Args& a, const FbSlots<N>& slots, const Place& place, unsigned (&acc)[N]) {
  const FbBuffer* const leaves = (const FbBuffer*)a.body;
  const unsigned count = a.head.leaves;
  if (!Place::kTile || a.head.unstaged) {
#pragma unroll 1
    for (unsigned k = 0; k < count; ++k) {
      if (Place::kTile && leaves[k].staged) continue;
      fb_load_leaf<N, kTyped>(a, leaves[k], slots, place);
    }
    fb_wait();
  }
  if (kTyped && (Place::kTile || a.head.widened)) {
#pragma unroll 1
    for (unsigned k = 0; k < count; ++k) {
      if constexpr (Place::kTile) {
        if (leaves[k].staged) {
          fb_leaf_from_stage<N>(leaves[k], slots, place, acc);
          continue;
        }
      }
      if (leaves[k].size_log2 < 2) fb_widen_leaf<N>(leaves[k], slots, acc);
    }
    // It was the last one to come into the accumulator.
    if (leaves[count - 1].size_log2 < 2 || (Place::kTile && leaves[count - 1].staged)) return;
  }
  if (count > 0) slots.get(leaves[count - 1].slot, acc);
}

// Words that hold a thread's elements as they lie in memory, to an output where pieces lie
// together: 16 bytes at a time, or what a piece has.
template <bool kNarrower, int kWords, typename Place>
FB_FN void fb_store_pieces(const FbBuffer& out, const unsigned (&words)[kWords], unsigned size,
                           unsigned width_log2, const Place& place) {
  unsigned char* const first = (unsigned char*)out.address;
  if (!kNarrower || width_log2 >= 4) {
#pragma unroll
    for (int k = 0; k < kWords / 4; ++k) {
      const unsigned* const w = words + 4 * k;
      *(FbQuad*)(first + place.out_sixteen(out, k, size)) = FbQuad{{w[0], w[1], w[2], w[3]}};
    }
  } else if (width_log2 == 3) {
#pragma unroll
    for (int k = 0; k < kWords / 2; ++k) {
      const unsigned* const w = words + 2 * k;
      *(FbTwo*)(first + (place.index(8 * k >> size) << size)) = FbTwo{{w[0], w[1]}};
    }
  } else {
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      *(unsigned*)(first + (place.index(4 * k >> size) << size)) = words[k];
    }
  }
}

// The accumulator to an output of words, or of less. In a row, whose elements lie anywhere, it goes
// through slot `work`, since registers cannot be indexed.
template <int N, bool kTyped, typename Place>
FB_FN void fb_store(const FbBuffer& out, unsigned work, const unsigned (&acc)[N],
                    const FbSlots<N>& slots, const Place& place) {
  const unsigned size = kTyped ? out.size_log2 : 2;
  unsigned char* const first = (unsigned char*)out.address;
  const unsigned width_log2 = kTyped ? fb_piece_log2<N>(place) + size : 4;
  const bool together =
      out.packed && place.whole() && (kTyped ? width_log2 >= 2 : place.piece == 4);
  if (size == 2 && together) {
    fb_store_pieces<kTyped>(out, acc, 2, width_log2, place);
    return;
  }
  if (kTyped && size == 0 && together) {
    unsigned fours[N / 4];
#pragma unroll
    for (int k = 0; k < N / 4; ++k) {
      const unsigned* const four = acc + 4 * k;
      fours[k] = __byte_perm(__byte_perm(four[0], four[1], 0x0040),
                             __byte_perm(four[2], four[3], 0x0040), 0x5410);
    }
    fb_store_pieces<true>(out, fours, 0, width_log2, place);
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
    unsigned pairs[N / 2];
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      pairs[k] = __byte_perm(bits[2 * k], bits[2 * k + 1], 0x5410);
    }
    fb_store_pieces<true>(out, pairs, 1, width_log2, place);
    return;
  }
  const auto put = [&](unsigned char* to, unsigned word) {
    if (size == 2) *(unsigned*)to = word;
    if (size == 1) *(unsigned short*)to = (unsigned short)word;
    if (size == 0) *to = (unsigned char)word;
  };
  if constexpr (Place::kStraight) {
    const unsigned step = place.step();
    constexpr int kRun = kTyped ? 2 : 4;
#pragma unroll
    for (int e = 0; e < N; e += kRun) {
      unsigned local = place.local(e);
      unsigned char* to = first + ((place.start + local) << size);
#pragma unroll
      for (int n = 0; n < kRun; ++n) {
        if (local < place.left) put(to, bits[e + n]);
        local += step;
        to += step << size;
      }
    }
  } else if constexpr (Place::kTile) {
#pragma unroll
    for (int e = 0; e < N; ++e) {
      if (place.inside(e)) put(first + (place.index(e) << size), bits[e]);
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
