// Every type of an element.
#pragma once

#include "forebay/compute/dtype.hpp"

namespace forebay::testing {

inline constexpr DType kAllTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                      DType::i64, DType::i32, DType::u8,  DType::boolean};

}  // namespace forebay::testing
