#include "runtime/cuda/cuda_vmm_source.hpp"

#include <utility>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/source_answer.hpp"

namespace forebay::cuda {

using driver::CudaApi;
using pool::Address;
using pool::Handle;
using pool::SourceResult;

namespace {

bool has(const CudaApi& api, CUdevice device, CUdevice_attribute what) {
  int value = 0;
  check(api, api.cuDeviceGetAttribute(&value, what, device), "cuDeviceGetAttribute");
  return value != 0;
}

}  // namespace

bool CudaVmmSource::supported(const CudaApi& api, CUdevice device) {
  return has(api, device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
}

CudaVmmSource::CudaVmmSource(std::shared_ptr<const Context> context, const Options& options)
    : CudaMallocSource(std::move(context)) {
  const CudaApi& api = context_->api();
  const CUdevice device = context_->device();
  if (!supported(api, device)) {
    throw DeviceError(
        "the device has no virtual memory management; /pool/backing must be "
        "\"malloc\"");
  }
  kind_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind_.location.id = device;
  if (options.export_as == pool::PoolExport::fd) {
    if (!has(api, device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)) {
      throw DeviceError(
          "the device cannot export memory as file descriptors; /pool/export must "
          "be \"none\"");
    }
    kind_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  }
  access_.push_back({kind_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  for (const CUdevice peer : options.peers) {
    access_.push_back(access_.front());
    access_.back().location.id = peer;
  }
  check(api,
        api.cuMemGetAllocationGranularity(&granularity_, &kind_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
}

pool::SourceTraits CudaVmmSource::traits() const noexcept {
  pool::SourceTraits traits = CudaMallocSource::traits();
  traits.name = "cuda-vmm";
  traits.virtual_memory = true;
  traits.granularity = granularity_;
  return traits;
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
    return api.cuMemSetAccess(address, bytes, access_.data(), access_.size());
  });
}

SourceResult CudaVmmSource::unmap(Address address, std::size_t bytes) noexcept {
  return in_context(*context_, [&](const CudaApi& api) { return api.cuMemUnmap(address, bytes); });
}

SourceResult CudaVmmSource::release(Handle handle, std::size_t /*bytes*/) noexcept {
  return in_context(*context_, [&](const CudaApi& api) { return api.cuMemRelease(handle); });
}

}  // namespace forebay::cuda
