// The other kernels for any program. They are compiled as relocatable code, so that they share the
// functions of all operations.
#include "compute/cuda/interpreter_kernel.inl"

FB_KERNEL(forebay_interpret_reduce_typed, 3, kFbSmallBytes, fb_reduce_typed<kFbElements>)
FB_KERNEL(forebay_interpret_map_tiled, 3, kFbSmallBytes, fb_map_tiled)
FB_KERNEL(forebay_interpret_map_large, 4, kFbLargeBytes, fb_map<kFbLargeElements, true>)
FB_KERNEL(forebay_interpret_reduce_large, 3, kFbLargeBytes, fb_reduce_typed<kFbLargeElements>)
