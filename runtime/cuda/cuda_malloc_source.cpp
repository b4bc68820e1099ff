#include "runtime/cuda/cuda_malloc_source.hpp"

#include <utility>

#include "runtime/cuda/source_answer.hpp"

namespace forebay::cuda {

using driver::CudaApi;
using pool::Address;
using pool::SourceResult;

CudaMallocSource::CudaMallocSource(std::shared_ptr<const Context> context,
                                   const std::vector<CUdevice>& peers)
    : context_(std::move(context)) {
  const CudaApi& api = context_->api();
  check(api, api.cuDeviceTotalMem(&total_, context_->device()), "cuDeviceTotalMem");
  for (const CUdevice peer : peers) {
    auto opened = std::make_unique<Context>(context_->shared_api(), peer);
    const CUresult result = opened->enter() ? api.cuCtxEnablePeerAccess(context_->native(), 0)
                                            : CUDA_ERROR_INVALID_CONTEXT;
    peers_.push_back(std::move(opened));
    // Somebody else may have enabled it, so it is not disabled at the end either.
    if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      check(api, result, "cuCtxEnablePeerAccess");
    }
  }
  (void)context_->enter();  // back from the peers'; every call asks again
}

pool::SourceTraits CudaMallocSource::traits() const noexcept {
  return {"cuda-malloc", false, kGranularity, total_, true};
}

std::size_t CudaMallocSource::free_bytes() const noexcept {
  std::size_t free = 0;
  std::size_t total = 0;
  const auto ask = [&](const CudaApi& api) { return api.cuMemGetInfo(&free, &total); };
  return in_context(*context_, ask).ok() ? free : 0;
}

SourceResult CudaMallocSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const RelaxedCapture relaxed(api);
    CUdeviceptr start = 0;
    const CUresult result = api.cuMemAlloc(&start, bytes);
    *address = start;
    return result;
  });
}

SourceResult CudaMallocSource::free_region(Address address, std::size_t /*bytes*/) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const RelaxedCapture relaxed(api);
    return api.cuMemFree(address);
  });
}

}  // namespace forebay::cuda
