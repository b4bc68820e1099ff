#include "runtime/cuda/cuda_pinned_source.hpp"

#include <unistd.h>

#include <utility>

#include "runtime/cuda/source_answer.hpp"

namespace forebay::cuda {

using driver::CudaApi;
using pool::Address;
using pool::Handle;
using pool::Outcome;
using pool::SourceResult;

namespace {

constexpr SourceResult kUnsupported{Outcome::failed, CUDA_ERROR_NOT_SUPPORTED};

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
  constexpr std::size_t kGranularity = std::size_t{2} << 20;
  return {"cuda-pinned", false, kGranularity, bytes_of_pages(_SC_PHYS_PAGES)};
}

std::size_t CudaPinnedSource::free_bytes() const noexcept {
  return bytes_of_pages(_SC_AVPHYS_PAGES);
}

SourceResult CudaPinnedSource::reserve(std::size_t, Address*) noexcept { return kUnsupported; }
SourceResult CudaPinnedSource::unreserve(Address, std::size_t) noexcept { return kUnsupported; }
SourceResult CudaPinnedSource::create(std::size_t, Handle*) noexcept { return kUnsupported; }
SourceResult CudaPinnedSource::map(Address, std::size_t, Handle) noexcept { return kUnsupported; }
SourceResult CudaPinnedSource::set_access(Address, std::size_t) noexcept { return kUnsupported; }
SourceResult CudaPinnedSource::unmap(Address, std::size_t) noexcept { return kUnsupported; }
SourceResult CudaPinnedSource::release(Handle, std::size_t) noexcept { return kUnsupported; }

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
