// What a driver call means to the pool.
#pragma once

#include "forebay/pool/memory_source.hpp"
#include "runtime/cuda/context.hpp"

namespace forebay::cuda {

[[nodiscard]] inline pool::SourceResult answer(CUresult result) noexcept {
  using pool::Outcome;
  return {result == CUDA_SUCCESS               ? Outcome::ok
          : result == CUDA_ERROR_OUT_OF_MEMORY ? Outcome::out_of_memory
                                               : Outcome::failed,
          static_cast<int>(result)};
}

/// `call(api)` with the context current; `failed` once the driver may not be called any more.
template <typename Call>
[[nodiscard]] pool::SourceResult in_context(const Context& context, Call call) noexcept {
  return answer(context.enter() ? call(context.api()) : CUDA_ERROR_DEINITIALIZED);
}

}  // namespace forebay::cuda
