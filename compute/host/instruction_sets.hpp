// For which instruction sets Highway compiles the loops, beside what every processor has: AVX2 and
// AVX-512 on x86, SVE on ARM. SSE4 would gain little over SSE2 and cost as much to compile.
#pragma once

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
