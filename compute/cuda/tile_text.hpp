// The kernel of a map that walks by tiles, as code.
#pragma once

#include "compute/cuda/program_text.hpp"

namespace forebay::cuda {

/// What stands between the braces of the kernel. A block has one kStagedTile: a leaf of
/// `shape.staged` is read along the dimension of its neighbours into shared memory, and every
/// element is computed where its output lies.
void tile_kernel(Text& text, const compute::Program& program, const KernelShape& shape);

}  // namespace forebay::cuda
