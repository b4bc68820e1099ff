// What the interpreter kernels and those who feed them agree on: the bytecode and the parameters.
// Plain C++ behind compute/op.hpp, since device code reads it too.
//
// A value is held in words of 32 bits, in one slot: f32 and i32 as they are, u8 and booleans as the
// i32 of the same value, f16 and bf16 as the f32 of the same value; or in two slots: f64 and i64.

// Light operations work on the accumulator and are written out for all elements of a thread.
// X(name, type of the operands). The first ones are looked for first: what most programs consist of
// takes the fewest branches. The last three unary ones are what f16, bf16 and u8 are rounded by.
#define FB_COMMUTING_FIRST(X) \
  X(add, f32)                 \
  X(mul, f32)
#define FB_ORDERED_FIRST(X) X(sub, f32)
#define FB_COMMUTING(X) \
  X(add, i32)           \
  X(mul, i32)           \
  X(min, i32)           \
  X(min, f32)           \
  X(max, i32)           \
  X(max, f32)           \
  X(equal, i32)         \
  X(equal, f32)         \
  X(bit_and, i32)       \
  X(bit_or, i32)        \
  X(bit_xor, i32)
#define FB_ORDERED(X) \
  X(sub, i32)         \
  X(greater, i32)     \
  X(greater, f32)
#define FB_UNARY(X) \
  X(neg, i32)       \
  X(neg, f32)       \
  X(relu, i32)      \
  X(relu, f32)      \
  X(to_f32, i32)    \
  X(to_i32, f32)    \
  X(to_f16, f32)    \
  X(to_bf16, f32)   \
  X(to_u8, i32)
// By the type of the condition; what is chosen from is any words.
#define FB_CHOICE(X) X(select, boolean)

// The machine has one accumulator of N words in registers, and slots of N words in shared memory.
// It begins with the elements of the last leaf that has one for each, if they take one slot.
// An instruction is `code << 22 | b << 11 | c`; an operand is a slot, or a word among the scalars
// with kFbScalar set.
enum : unsigned { kFbCodeShift = 22, kFbOperandBits = 11, kFbOperandMask = 2047, kFbScalar = 1024 };

// Binary light operations come in forms: `_s` acc ∘ scalar b, `_m` acc ∘ slot b, `_a` acc ∘ acc;
// ordered ones also as `_rs` scalar b ∘ acc and `_rm` slot b ∘ acc.
#define FB_COMMUTING_CODES(name, type) \
  kFb_##name##_##type##_s, kFb_##name##_##type##_m, kFb_##name##_##type##_a,
#define FB_ORDERED_CODES(name, type)                                         \
  kFb_##name##_##type##_s, kFb_##name##_##type##_m, kFb_##name##_##type##_a, \
      kFb_##name##_##type##_rs, kFb_##name##_##type##_rm,
enum FbCode : unsigned {
  FB_COMMUTING_FIRST(FB_COMMUTING_CODES)
  FB_ORDERED_FIRST(FB_ORDERED_CODES)
  kFbMoves,  // a border: below it are the first operations, from it on what moves values
  kFbEnd = kFbMoves,  // what is reduced is in the accumulator, or in slots b if it takes two
  kFbLoad,            // acc = operand b
  kFbStore,           // slot b = acc
  kFbOut,             // output b = acc
  kFbOutLast,         // the same, and that is the end
  kFbSingle,          // acc = the one element of single leaf b
  kFbLight,  // from here on the other light operations
  kFbBeforeLight = kFbLight - 1,
  FB_COMMUTING(FB_COMMUTING_CODES)
  FB_ORDERED(FB_ORDERED_CODES)
#define FB_CODES(name, type) kFb_##name##_##type,
  FB_UNARY(FB_CODES)   // acc = f(acc)
  FB_CHOICE(FB_CODES)  // acc = acc ? operand b : operand c
#undef FB_CODES
  // From here on only the typed kernels know them.
  kFbTyped,
  kFbOutWide = kFbTyped,  // output b = operand c, of two slots
  kFbSingleWide,          // slots c = the one element of single leaf b
  kFbIndex,               // slots b = the elements' linear indices
  // Every operation on every type, in two instruction words: `code << 22 | result << 11 | a`, then
  // `b << 11 | c`. The accumulator becomes the result, if it has one word.
  kFbGeneral
};

// The types of general operations; f16 and bf16 are f32 that is rounded afterwards.
enum FbType : unsigned { kFb_f64, kFb_f32, kFb_i64, kFb_i32, kFb_u8, kFb_boolean, kFbTypes };
enum FbOp : unsigned {
#define FB_OP(name, operands, kind) kFbOp_##name,
  FOREBAY_ELEMENTWISE_OPS(FB_OP)
#undef FB_OP
  kFbOps
};
#define FB_GENERAL(name, type) \
  (unsigned{kFbGeneral} + unsigned{kFbOp_##name} * kFbTypes + unsigned{kFb_##type})
enum : unsigned { kFbCodes = unsigned{kFbGeneral} + unsigned{kFbOps} * kFbTypes };
static_assert(kFbCodes <= 1U << (32 - kFbCodeShift), "");

// How the typed kernels join two parts of a reduction, and from which type they come: X(the name of
// the join, the type of a value, of terms, of totals). Integers and booleans of one word are i32
// until they are stored.
#define FB_JOINS(X)       \
  X(add, f64, f64, f64)   \
  X(add, f32, f32, f64)   \
  X(add, i64, i64, i64)   \
  X(add, i32, i64, i64)   \
  X(mul, f64, f64, f64)   \
  X(mul, f32, f64, f64)   \
  X(mul, i64, i64, i64)   \
  X(mul, i32, i64, i64)   \
  X(min, f64, f64, f64)   \
  X(min, f32, f32, f32)   \
  X(min, i64, i64, i64)   \
  X(min, i32, i32, i32)   \
  X(max, f64, f64, f64)   \
  X(max, f32, f32, f32)   \
  X(max, i64, i64, i64)   \
  X(max, i32, i32, i32)
// The same with the index of the best.
#define FB_BEST_JOINS(X) \
  X(best_min, f64)       \
  X(best_min, f32)       \
  X(best_min, i64)       \
  X(best_min, i32)       \
  X(best_max, f64)       \
  X(best_max, f32)       \
  X(best_max, i64)       \
  X(best_max, i32)
enum FbJoin : unsigned {
#define FB_JOIN_CODE(name, value, term, total) kFbJoin_##name##_##value,
#define FB_BEST_CODE(name, type) kFbJoin_##name##_##type,
  FB_JOINS(FB_JOIN_CODE)
  FB_BEST_JOINS(FB_BEST_CODE)
#undef FB_JOIN_CODE
#undef FB_BEST_CODE
};

// How an element lies in memory.
enum FbForm : unsigned { kFbWord, kFbByte, kFbBoolean, kFbF16, kFbBf16, kFbWide };

// A leaf with an element for each, or an output.
struct FbBuffer {
  void* address;
  unsigned slot : 10;
  unsigned form : 3;       // FbForm
  unsigned size_log2 : 2;  // of an element in memory
  unsigned packed : 1;     // a piece of elements lies together, and aligned to its size
  unsigned straight : 1;   // so do all elements of a row, or of the space
  unsigned strided : 1;
  unsigned read : 1;    // from its slot, else only from the accumulator
  unsigned staged : 1;  // it goes through shared memory; `packed` is along its own neighbours then
  unsigned short strides_at;  // a stride for each dimension
  unsigned short stage_at;    // where its stage begins, in 16 bytes
};

// One launch. The body holds, at places that the head names: in words of eight bytes the buffers of
// the leaves with an element for each, then of the outputs, the addresses of the single leaves, the
// dimensions (extent; magic and shift), the strides of an index over the whole space and of each
// strided leaf; in words of four the scalars, those of eight bytes in two, and the code. Dimensions
// that are kept come before those that are reduced; those of tiles are the last two.
struct FbHead {
  // What blocks read first, so many bytes each, one block after the other; none if that is 0.
  const unsigned char *ahead, *ahead_end;
  long long ahead_bytes;
  void* result;
  unsigned long long *partials, *mailbox;
  unsigned long long identity;     // of the totals
  long long kept, reduced, chunk;  // of a reduction
  long long count;                 // of elements
  unsigned splits, group_log2, columns_log2, inner, ticket;
  unsigned tiles, tiles_magic, tiles_shift;  // of a reduction: blocks beside each other
  unsigned join;         // FbJoin
  unsigned real, mean;   // what is reduced is f32, else whole; divide at the end
  unsigned indexed;      // the result is the index
  unsigned total_wide;   // totals are f64 or i64
  unsigned result_form;  // FbForm
  unsigned run_log2;     // of the elements of a row that a thread takes together
  unsigned piece, piece_log2;  // elements that follow each other by one stride
  unsigned narrow;       // indices are below 2^31
  unsigned leaves;       // with an element for each
  unsigned inner_tiles, across_tiles;  // of a walk by tiles (tile_plan.hpp)
  unsigned wide_log2, across_log2;     // patches beside each other; elements of a tile across
  unsigned copy_log2;                  // of the bytes that may be staged at once
  unsigned unstaged;                   // leaves of such a walk
  unsigned widened;      // some of them have less than a word
  unsigned rank, kept_dims;
  unsigned outputs_at, singles_at, dims_at, index_strides_at;
  unsigned scalars_at, code_at;
};
template <unsigned kBytes>
struct FbArguments {
  FbHead head;
  unsigned long long body[(kBytes - sizeof(FbHead)) / 8];
};
enum : unsigned {
  kFbBriefBytes = 512,    // of FbArguments, where there is such a kernel
  kFbSmallBytes = 2048,   // for all but the longest programs
  kFbLargeBytes = 16384,  // for any program
  kFbElements = 8,        // of a thread in one step of a reduction
  kFbMapElements = 16,    // of a thread in a map: more for each instruction that is decoded
  kFbStepsElements = 16,  // of a thread in two steps of a reduction, for the same reason
  kFbLargeElements = 4,   // at a time, where values or code are many
};
