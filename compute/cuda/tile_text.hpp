// The kernel of a map that walks by tiles, as code.
#pragma once

#include "compute/cuda/program_text.hpp"

namespace forebay::cuda {

/// What stands between the braces of the kernel, on top of tiles.inl: a block's part of each leaf
/// of `shape.staged` comes into shared memory, and its threads take patch after patch.
void tile_kernel(Text& text, const compute::Program& program, const KernelShape& shape);

}  // namespace forebay::cuda
