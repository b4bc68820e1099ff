// Shapes as people write them on a command line.
#pragma once

#include <cstdint>
#include <string_view>

#include "forebay/compute/shape.hpp"

namespace forebay::tools {

/// "32,4,84,84" as a shape. Throws UsageError for what is no list of whole numbers from 0 on, for
/// more dimensions than a tensor has, and for more bytes than can be counted.
[[nodiscard]] Dims parse_shape(std::string_view text);

}  // namespace forebay::tools
