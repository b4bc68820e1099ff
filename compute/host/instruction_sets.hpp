// For which instruction sets Highway compiles the loops, beside what every processor has: AVX2 and
// AVX-512 on x86, what Highway knows elsewhere. SSSE3 and SSE4 would serve old processors alone,
// and each set costs time to compile.
#pragma once

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
