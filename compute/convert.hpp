// Elements from one type to another on the host, at the speed of its memory.
#pragma once

#include <cstddef>

#include "forebay/compute/dtype.hpp"

namespace forebay::compute {

/// Converts `count` elements as the casts of programs do; equal types are copied. The two ranges
/// do not overlap; of booleans to booleans they may be the same one, whose bytes become 0 or 1.
/// Thread safety: any thread.
void convert(const void* source, DType source_type, void* target, DType target_type,
             std::size_t count) noexcept;

}  // namespace forebay::compute
