// The machine: decoding an instruction costs about a dozen instructions of the processor and is
// shared by the N elements of a thread. Branches follow the bytecode, so a warp never diverges in
// them.

// Operations over the accumulator, written out for its elements.
#define FB_EACH(...)                                             \
  _Pragma("unroll") for (int e = 0; e < N; ++e) { __VA_ARGS__; } \
  break
#define FB_ACC(type) fb_value<fb_##type>(acc[e])
#define FB_WITH_SCALAR(name, type, form, first, second)  \
  case kFb_##name##_##type##_##form: {                   \
    const fb_##type s = fb_value<fb_##type>(scalar(b));  \
    FB_EACH(acc[e] = fb_word(fb_##name(first, second))); \
  }
#define FB_WITH_SLOT(name, type, form, first, second)         \
  case kFb_##name##_##type##_##form: {                        \
    unsigned slot[N];                                         \
    slots.get(b, slot);                                       \
    FB_EACH(const fb_##type s = fb_value<fb_##type>(slot[e]); \
            acc[e] = fb_word(fb_##name(first, second)));      \
  }
#define FB_FORWARD(name, type)                   \
  FB_WITH_SCALAR(name, type, s, FB_ACC(type), s) \
  FB_WITH_SLOT(name, type, m, FB_ACC(type), s)   \
  case kFb_##name##_##type##_a:                  \
    FB_EACH(acc[e] = fb_word(fb_##name(FB_ACC(type), FB_ACC(type))));
#define FB_BOTH_WAYS(name, type)                  \
  FB_FORWARD(name, type)                          \
  FB_WITH_SCALAR(name, type, rs, s, FB_ACC(type)) \
  FB_WITH_SLOT(name, type, rm, s, FB_ACC(type))
#define FB_ONE(name, type)  \
  case kFb_##name##_##type: \
    FB_EACH(acc[e] = fb_word(fb_##name(FB_ACC(type))));

// The one element of a leaf as it is held.
FB_FN unsigned long long fb_single(const FbBuffer& leaf) {
  switch (leaf.form) {
    case kFbByte:
      return *(const unsigned char*)leaf.address;
    case kFbBoolean:
      return *(const unsigned char*)leaf.address != 0;
    case kFbF16:
      return fb_word(*(const FbHalf*)leaf.address);
    case kFbBf16:
      return fb_word(*(const FbBfloat*)leaf.address);
    case kFbWide:
      return *(const unsigned long long*)leaf.address;
    default:
      return *(const unsigned*)leaf.address;
  }
}

// Runs the code over a thread's N elements. What is reduced ends in `acc`, or from the slot on that
// is returned.
template <int N, bool kTyped, typename Args, typename Place>
FB_FN unsigned fb_interpret(const Args& a, const FbSlots<N>& slots, const Place& place,
                            unsigned (&acc)[N]) {
  const unsigned* const words = (const unsigned*)a.body;
  const unsigned* const code = words + a.head.code_at;
  const unsigned* const scalars = words + a.head.scalars_at;
  const FbBuffer* const outputs = (const FbBuffer*)(a.body + a.head.outputs_at);
  const FbBuffer* const singles = (const FbBuffer*)(a.body + a.head.singles_at);
  const auto scalar = [&](unsigned operand) { return scalars[operand & (kFbScalar - 1)]; };
  const auto wide_scalar = [&](unsigned operand) {
    const unsigned* const low = scalars + (operand & (kFbScalar - 1));
    return (unsigned long long)low[1] << 32 | low[0];  // a word follows each
  };
  const auto four_of = [&](unsigned operand, int q) {
    if (operand & kFbScalar) {
      const unsigned s = scalar(operand);
      return FbQuad{{s, s, s, s}};
    }
    return *slots.quad(operand, q);
  };
  const auto operand_of = [&](unsigned operand) {
    if (operand & kFbScalar) return FbOperand{wide_scalar(operand), -1};
    return FbOperand{0, (int)slots.at(operand)};
  };
  unsigned next = code[0];
#pragma unroll 1
  for (unsigned pc = 1;; ++pc) {
    const unsigned instruction = next;
    next = code[pc];  // on its way while this one runs; one word follows the end
    const unsigned b = instruction >> kFbOperandBits & kFbOperandMask;
    const unsigned c = instruction & kFbOperandMask;
    const unsigned code_of = instruction >> kFbCodeShift;
    if (code_of < kFbMoves) {
      switch (code_of) {
        FB_COMMUTING_FIRST(FB_FORWARD)
        FB_ORDERED_FIRST(FB_BOTH_WAYS)
      }
      continue;
    }
    if (code_of < kFbLight) {
      switch (code_of) {
        case kFbEnd:
          return b;
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
        case kFbOut:
        case kFbOutLast:
          fb_store<N, kTyped>(outputs[b], c, acc, slots, place);
          if (code_of == kFbOutLast) return 0;
          break;
        case kFbSingle: {
          const unsigned s =
              kTyped ? (unsigned)fb_single(singles[b]) : *(const unsigned*)singles[b].address;
#pragma unroll
          for (int e = 0; e < N; ++e) acc[e] = s;
          break;
        }
      }
      continue;
    }
    if (kTyped && code_of >= kFbTyped) {
      if (code_of >= kFbGeneral) {
        const unsigned second = next;
        next = code[++pc];
        const FbOperand x = operand_of(c);
        const FbOperand y = operand_of(second >> kFbOperandBits & kFbOperandMask);
        const FbOperand z = operand_of(second & kFbOperandMask);
        const unsigned type = (code_of - kFbGeneral) % kFbTypes;
        if (type == kFb_f64 || type == kFb_i64) {
          fb_general<true>(code_of, N, slots.pitch(), slots.at(b), x, y, z);
        } else {
          fb_general<false>(code_of, N, slots.pitch(), slots.at(b), x, y, z);
        }
        slots.get(b, acc);
      } else if (code_of == kFbOutWide) {
        fb_store_wide<N>(outputs[b], operand_of(c), slots, place);
      } else {
        const unsigned long long bits = code_of == kFbSingleWide ? fb_single(singles[b]) : 0;
#pragma unroll 1
        for (unsigned e = 0; e < N; ++e) {
          if (code_of == kFbIndex) {
            *slots.wide(b, e) = (unsigned long long)place.index(e);
          } else {
            *slots.wide(c, e) = bits;
          }
        }
      }
      continue;
    }
    switch (code_of) {
      FB_COMMUTING(FB_FORWARD)
      FB_ORDERED(FB_BOTH_WAYS)
      FB_UNARY(FB_ONE)

#define FB_CHOOSE_WORDS(name, type)                                                                \
  case kFb_##name##_##type: {                                                                      \
    _Pragma("unroll") for (int q = 0; q < N / 4; ++q) {                                            \
      const FbQuad yes = four_of(b, q), no = four_of(c, q);                                        \
      _Pragma("unroll") for (int n = 0; n < 4; ++n) {                                              \
        acc[4 * q + n] =                                                                           \
            (unsigned)fb_##name(fb_value<fb_##type>(acc[4 * q + n]), (int)yes.w[n], (int)no.w[n]); \
      }                                                                                            \
    }                                                                                              \
    break;                                                                                         \
  }
      FB_CHOICE(FB_CHOOSE_WORDS)
    }
  }
}
