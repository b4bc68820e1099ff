// What the interpreter kernels and those who feed them agree on: the bytecode and the parameters.
// Plain C++ without includes, since device code reads it too.

// The operations by how the interpreter runs them; a program with an operation that is not here
// cannot be interpreted. X(name, type of the operands). Every value is a word of 32 bits: booleans,
// which comparisons give and choices take, are 0 or 1. Light ones are written out for all elements of a thread, heavy ones are loops over
// them, so that the kernels stay small. Casts to the same type need no instruction.
//
// The first ones are looked for first: what most programs consist of takes the fewest branches.
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
  X(equal, f32)
#define FB_ORDERED(X) \
  X(sub, i32)         \
  X(greater, i32)     \
  X(greater, f32)
#define FB_UNARY(X)  \
  X(neg, i32)        \
  X(neg, f32)        \
  X(relu, i32)       \
  X(relu, f32)       \
  X(to_f32, i32)     \
  X(to_i32, f32)     \
  X(to_f32, boolean) \
  X(to_i32, boolean)
#define FB_HEAVY_UNARY(X) \
  X(exp, f32)             \
  X(log, f32)             \
  X(sqrt, f32)
#define FB_HEAVY_BINARY(X) X(div, f32)
// Takes two keys and the element's index.
#define FB_RANDOM(X)     \
  X(random_uniform, i32) \
  X(random_normal, i32)
// By the type of the condition; what is chosen from is any words.
#define FB_CHOICE(X) X(select, boolean)

// The machine has one accumulator of N elements in registers, and slots of N elements in shared
// memory. An instruction is `code << 22 | b << 11 | c`; an operand is a slot, or a scalar with
// kFbScalar set.
enum : unsigned { kFbCodeShift = 22, kFbOperandBits = 11, kFbOperandMask = 2047, kFbScalar = 1024 };

// Binary operations come in forms: `_s` acc ∘ scalar b, `_m` acc ∘ slot b, `_a` acc ∘ acc; ordered
// ones also as `_rs` scalar b ∘ acc and `_rm` slot b ∘ acc.
#define FB_COMMUTING_CODES(name, type) \
  kFb_##name##_##type##_s, kFb_##name##_##type##_m, kFb_##name##_##type##_a,
#define FB_ORDERED_CODES(name, type)                                         \
  kFb_##name##_##type##_s, kFb_##name##_##type##_m, kFb_##name##_##type##_a, \
      kFb_##name##_##type##_rs, kFb_##name##_##type##_rm,
enum FbCode : unsigned {
  FB_COMMUTING_FIRST(FB_COMMUTING_CODES)
  FB_ORDERED_FIRST(FB_ORDERED_CODES)
  kFbEnd,     // the accumulator holds what is reduced
  kFbLoad,    // acc = operand b
  kFbStore,   // slot b = acc
  kFbOut,     // output b = acc
  kFbSingle,  // acc = the one element of single leaf b
  FB_COMMUTING(FB_COMMUTING_CODES)
  FB_ORDERED(FB_ORDERED_CODES)
#define FB_CODES(name, type) kFb_##name##_##type,
  FB_UNARY(FB_CODES)         // acc = f(acc)
  FB_HEAVY_UNARY(FB_CODES)   // the same
  FB_HEAVY_BINARY(FB_CODES)  // acc = f(acc, operand b)
  FB_RANDOM(FB_CODES)        // the same, with the index
  FB_CHOICE(FB_CODES)        // acc = acc ? operand b : operand c
#undef FB_CODES
  kFbCodes
};

// One launch. The body holds, at places that the head names: in words of eight bytes the leaves'
// addresses (leaves with an element for each first, then single ones), the outputs' addresses, the
// dimensions (extent; magic and shift), the strides of an index over the whole space and of each
// strided leaf; in words of four the scalars and the code. Dimensions that are kept come before
// those that are reduced.
struct FbHead {
  void* result;
  void* partials;
  unsigned* tickets;
  unsigned long long* mailbox;
  long long kept, reduced, chunk;  // of a reduction
  long long count;                 // of elements
  unsigned splits, group_log2, columns_log2, inner, ticket;
  unsigned real, mean;      // what is reduced is f32, else whole; divide at the end
  unsigned vector, narrow;  // sixteen bytes at a time; indices below 2^31
  unsigned leaves;          // with an element for each
  unsigned strided;         // bit k: leaf k has strides
  unsigned rank, kept_dims;
  unsigned scratch;  // the slot that heavy operations work in
  unsigned singles_at, outputs_at, dims_at, index_strides_at, strides_at;
  unsigned scalars_at, code_at;
};
template <unsigned kBytes>
struct FbArguments {
  FbHead head;
  unsigned long long body[(kBytes - sizeof(FbHead)) / 8];
};
enum : unsigned {
  kFbSmallBytes = 2048,   // of FbArguments, for all but the longest programs
  kFbLargeBytes = 10240,  // for any program
  kFbElements = 8,        // of a thread in one step of a reduction
  kFbMapElements = 16,    // of a thread in a map: more for each instruction that is decoded
};
