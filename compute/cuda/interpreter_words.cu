// The kernels for light operations on f32 and i32, and the one for maps of any other program. That
// one has its own copy of all operations: to call a function of another module costs it registers,
// and programs of f64 a third of their bandwidth.
#include "compute/cuda/interpreter_kernel.inl"

FB_KERNEL(forebay_interpret_map_brief, 5, kFbBriefBytes, fb_map<kFbMapElements, false>)
FB_KERNEL(forebay_interpret_reduce_brief, 4, kFbBriefBytes, fb_reduce<kFbElements>)
FB_KERNEL(forebay_interpret_reduce_steps_brief, 3, kFbBriefBytes, fb_reduce<kFbStepsElements>)
FB_KERNEL(forebay_interpret_map, 5, kFbSmallBytes, fb_map<kFbMapElements, false>)
FB_KERNEL(forebay_interpret_reduce, 4, kFbSmallBytes, fb_reduce<kFbElements>)
FB_KERNEL(forebay_interpret_reduce_steps, 3, kFbSmallBytes, fb_reduce<kFbStepsElements>)
FB_KERNEL(forebay_interpret_map_typed, 5, kFbSmallBytes, fb_map<kFbMapElements, true>)
