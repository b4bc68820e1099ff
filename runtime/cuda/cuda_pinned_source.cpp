#include "runtime/cuda/cuda_pinned_source.hpp"

#include <unistd.h>

#include <utility>

#include "runtime/cuda/source_answer.hpp"

namespace forebay::cuda {

using driver::CudaApi;
using pool::Address;
using pool::SourceResult;

namespace {

std::size_t bytes_of_pages(int which) noexcept {
  const long pages = sysconf(which);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size)
                               : 0;
}

}  // namespace

CudaPinnedSource::CudaPinnedSource(std::shared_ptr<const Context> context)
    : context_(std::move(context)) {}

pool::SourceTraits CudaPinnedSource::traits() const noexcept {
  return {"cuda-pinned", false, kGranularity, bytes_of_pages(_SC_PHYS_PAGES)};
}

std::size_t CudaPinnedSource::free_bytes() const noexcept {
  return bytes_of_pages(_SC_AVPHYS_PAGES);
}

SourceResult CudaPinnedSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const RelaxedCapture relaxed(api);
    void* start = nullptr;
    const CUresult result = api.cuMemHostAlloc(&start, bytes, CU_MEMHOSTALLOC_PORTABLE);
    *address = reinterpret_cast<Address>(start);
    return result;
  });
}

SourceResult CudaPinnedSource::free_region(Address address, std::size_t /*bytes*/) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const RelaxedCapture relaxed(api);
    return api.cuMemFreeHost(reinterpret_cast<void*>(address));
  });
}

}  // namespace forebay::cuda
