// Adam's kernel as backends run it, and the layout of what it reads.
#pragma once

#include "forebay/compute/backend.hpp"

// The prelude's macros are those of the host here.
#include "compute/prelude.inl"

namespace forebay::nn {
#include "nn/adam.inl"

/// Parameters: const FbAdamRow* rows, const FbAdamChunk* chunks, unsigned chunk_count,
/// const float* lr, FbAdamState* state.
[[nodiscard]] const compute::CustomKernel& adam_kernel() noexcept;

}  // namespace forebay::nn
