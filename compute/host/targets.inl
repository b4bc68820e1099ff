// Compiles the file that includes this once for each instruction set, by Highway: that file has
// defined HWY_TARGET_INCLUDE as its own name, keeps what is compiled several times between
// FOREBAY_TARGETS_BEGIN and FOREBAY_TARGETS_END, and chooses when the program runs, in a part that
// is compiled once (HWY_ONCE), by HWY_EXPORT and HWY_DYNAMIC_DISPATCH.
//
// Loops are plain ones over the prelude that CUDA compiles too; the compiler vectorises them for
// each set. Contraction is off, so all sets give the same bits.

#include "compute/host/instruction_sets.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// In front of a loop whose iterations do not meet, whatever its pointers look like. Clang looks at
// the pointers when the loop begins.
#undef FOREBAY_INDEPENDENT
#ifdef __clang__
#define FOREBAY_INDEPENDENT
#else
#define FOREBAY_INDEPENDENT _Pragma("GCC ivdep")
#endif

#undef FOREBAY_TARGETS_BEGIN
#undef FOREBAY_TARGETS_END
#define FOREBAY_TARGETS_BEGIN        \
  HWY_BEFORE_NAMESPACE();            \
  namespace forebay::compute::host { \
  namespace HWY_NAMESPACE {          \
  namespace {
#define FOREBAY_TARGETS_END \
  }                         \
  }                         \
  }                         \
  HWY_AFTER_NAMESPACE();
