#include "runtime/cuda/cuda_vmm_source.hpp"

#include <utility>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/source_answer.hpp"

namespace forebay::cuda {

using driver::CudaApi;
using pool::Address;
using pool::Handle;
using pool::SourceResult;

CudaVmmSource::CudaVmmSource(std::shared_ptr<const Context> context)
    : context_(std::move(context)) {
  const CudaApi& api = context_->api();
  const CUdevice device = context_->device();
  int supported = 0;
  check(api,
        api.cuDeviceGetAttribute(&supported,
                                 CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
        "cuDeviceGetAttribute");
  if (supported == 0) {
    throw DeviceError("the device has no virtual memory management, which the pool needs");
  }
  kind_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind_.location.id = device;
  check(api,
        api.cuMemGetAllocationGranularity(&granularity_, &kind_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
  check(api, api.cuDeviceTotalMem(&total_, device), "cuDeviceTotalMem");
}

pool::SourceTraits CudaVmmSource::traits() const noexcept {
  return {"cuda-vmm", true, granularity_, total_};
}

std::size_t CudaVmmSource::free_bytes() const noexcept {
  std::size_t free = 0;
  std::size_t total = 0;
  const auto ask = [&](const CudaApi& api) { return api.cuMemGetInfo(&free, &total); };
  return in_context(*context_, ask).ok() ? free : 0;
}

SourceResult CudaVmmSource::reserve(std::size_t bytes, Address* address) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    CUdeviceptr start = 0;
    const CUresult result = api.cuMemAddressReserve(&start, bytes, granularity_, 0, 0);
    *address = start;
    return result;
  });
}

SourceResult CudaVmmSource::unreserve(Address address, std::size_t bytes) noexcept {
  return in_context(*context_,
                    [&](const CudaApi& api) { return api.cuMemAddressFree(address, bytes); });
}

SourceResult CudaVmmSource::create(std::size_t bytes, Handle* handle) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    CUmemGenericAllocationHandle created = 0;
    const CUresult result = api.cuMemCreate(&created, bytes, &kind_, 0);
    *handle = created;
    return result;
  });
}

SourceResult CudaVmmSource::map(Address address, std::size_t bytes, Handle handle) noexcept {
  return in_context(*context_,
                    [&](const CudaApi& api) { return api.cuMemMap(address, bytes, 0, handle, 0); });
}

SourceResult CudaVmmSource::set_access(Address address, std::size_t bytes) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const CUmemAccessDesc access{kind_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return api.cuMemSetAccess(address, bytes, &access, 1);
  });
}

SourceResult CudaVmmSource::unmap(Address address, std::size_t bytes) noexcept {
  return in_context(*context_, [&](const CudaApi& api) { return api.cuMemUnmap(address, bytes); });
}

SourceResult CudaVmmSource::release(Handle handle, std::size_t /*bytes*/) noexcept {
  return in_context(*context_, [&](const CudaApi& api) { return api.cuMemRelease(handle); });
}

SourceResult CudaVmmSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const RelaxedCapture relaxed(api);
    CUdeviceptr start = 0;
    const CUresult result = api.cuMemAlloc(&start, bytes);
    *address = start;
    return result;
  });
}

SourceResult CudaVmmSource::free_region(Address address, std::size_t /*bytes*/) noexcept {
  return in_context(*context_, [&](const CudaApi& api) {
    const RelaxedCapture relaxed(api);
    return api.cuMemFree(address);
  });
}

}  // namespace forebay::cuda
