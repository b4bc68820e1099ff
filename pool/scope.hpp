// The innermost AllocationScope of a thread, where the hit path can read it without a call.
#pragma once

namespace forebay::pool {

inline constinit thread_local const char* current_tag = nullptr;

}  // namespace forebay::pool
