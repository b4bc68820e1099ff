// The kernels for light operations on f32 and i32.
#include "compute/cuda/interpreter_kernel.inl"

FB_KERNEL(forebay_interpret_map, 5, kFbSmallBytes, fb_map<kFbMapElements, false>)
FB_KERNEL(forebay_interpret_reduce, 4, kFbSmallBytes, fb_reduce)
