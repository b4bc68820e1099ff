// Clauses on sharing: files of handles, and access for other devices.
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "tests/support/driver_contract.hpp"
#include "tests/support/driver_pieces.hpp"

namespace forebay::test {
namespace {

using driver::CudaApi;

CUmemAllocationProp exportable_memory() {
  CUmemAllocationProp kind = device_memory();
  kind.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return kind;
}

CUresult export_to(const CudaApi& api, CUmemGenericAllocationHandle handle, int* file) {
  return api.cuMemExportToShareableHandle(file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          0);
}

CUresult import_from(const CudaApi& api, int file, CUmemGenericAllocationHandle* handle) {
  return api.cuMemImportFromShareableHandle(
      handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

void an_exported_file_is_the_same_memory(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const CUmemAllocationProp kind = exportable_memory();
  const TestRange range(api, 4 * unit);
  const TestStream stream(api);
  CUmemGenericAllocationHandle made = 0;
  CUmemGenericAllocationHandle imported = 0;
  int file = -1;
  REQUIRE(api.cuMemCreate(&made, 2 * unit, &kind, 0) == CUDA_SUCCESS);
  REQUIRE(api.cuMemMap(range.at(), 2 * unit, 0, made, 0) == CUDA_SUCCESS);
  REQUIRE(export_to(api, made, &file) == CUDA_SUCCESS);
  REQUIRE(import_from(api, file, &imported) == CUDA_SUCCESS);
  CHECK(close(file) == 0);  // what was imported needs it no longer
  CHECK(api.cuMemMap(range.at(2 * unit), unit, 0, imported, 0) != CUDA_SUCCESS);  // whole, too
  REQUIRE(api.cuMemMap(range.at(2 * unit), 2 * unit, 0, imported, 0) == CUDA_SUCCESS);
  REQUIRE(give_access(api, range.at(), 4 * unit) == CUDA_SUCCESS);
  fill(api, range.at(), 0x5a, 2 * unit, stream.get());
  const auto there = read(api, range.at(2 * unit), 2 * unit, stream.get());
  CHECK(static_cast<std::size_t>(std::count(there.begin(), there.end(), 0x5a)) == 2 * unit);
  // The maker's side goes; the importer's memory stays, without a handle too.
  CHECK(api.cuMemRelease(imported) == CUDA_SUCCESS);
  CHECK(api.cuMemUnmap(range.at(), 2 * unit) == CUDA_SUCCESS);
  CHECK(api.cuMemRelease(made) == CUDA_SUCCESS);
  const auto later = read(api, range.at(2 * unit), 2 * unit, stream.get());
  CHECK(static_cast<std::size_t>(std::count(later.begin(), later.end(), 0x5a)) == 2 * unit);
  CHECK(api.cuMemUnmap(range.at(2 * unit), 2 * unit) == CUDA_SUCCESS);
}

void what_was_not_made_for_export_gives_no_file(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestHandle handle(api, granule(api));
  int file = -1;
  CHECK(export_to(api, handle.get(), &file) != CUDA_SUCCESS);
}

void any_other_file_is_refused(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  CUmemGenericAllocationHandle handle = 0;
  CHECK(import_from(api, -1, &handle) != CUDA_SUCCESS);
}

/// The second device, if it reaches the first one's memory; else -1, with a warning.
CUdevice second_device(const CudaApi& api) {
  int count = 0;
  int reaches = 0;
  REQUIRE(api.cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CUdevice device = 0;
  if (count > 1) {
    REQUIRE(api.cuDeviceGet(&device, 1) == CUDA_SUCCESS);
    REQUIRE(api.cuDeviceCanAccessPeer(&reaches, device, 0) == CUDA_SUCCESS);
  }
  if (reaches == 0) {
    WARN("not checked: no second device reaches the first one's memory");
  }
  return reaches != 0 ? device : -1;
}

void access_is_given_to_several_devices_at_once(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CUdevice peer = second_device(api);
  if (peer < 0) {
    return;
  }
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, unit);
  TestHandle handle(api, unit);
  handle.map(range.at());
  CUmemAccessDesc access[2] = {{device_memory().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                               {device_memory().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  access[1].location.id = peer;
  REQUIRE(api.cuMemSetAccess(range.at(), unit, access, 2) == CUDA_SUCCESS);
  {
    const TestStream stream(api);
    fill(api, range.at(), 0x21, unit, stream.get());
    CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  }
  CUcontext other = nullptr;
  REQUIRE(api.cuDevicePrimaryCtxRetain(&other, peer) == CUDA_SUCCESS);
  REQUIRE(api.cuCtxSetCurrent(other) == CUDA_SUCCESS);
  {
    const TestStream stream(api);
    const auto bytes = read(api, range.at(), unit, stream.get());
    CHECK(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), 0x21)) == unit);
  }
  REQUIRE(api.cuCtxSetCurrent(context.get()) == CUDA_SUCCESS);
  CHECK(api.cuDevicePrimaryCtxRelease(peer) == CUDA_SUCCESS);
}

void peer_access_is_enabled_once(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CUdevice peer = second_device(api);
  if (peer < 0) {
    return;
  }
  const CurrentContext context(api);
  CUcontext other = nullptr;
  REQUIRE(api.cuDevicePrimaryCtxRetain(&other, peer) == CUDA_SUCCESS);
  REQUIRE(api.cuCtxSetCurrent(other) == CUDA_SUCCESS);
  CHECK(api.cuCtxEnablePeerAccess(context.get(), 0) == CUDA_SUCCESS);
  CHECK(api.cuCtxEnablePeerAccess(context.get(), 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(api.cuCtxEnablePeerAccess(other, 0) != CUDA_SUCCESS);  // its own memory
  REQUIRE(api.cuCtxSetCurrent(context.get()) == CUDA_SUCCESS);
  CHECK(api.cuDevicePrimaryCtxRelease(peer) == CUDA_SUCCESS);
}

constexpr ContractClause kSharingClauses[] = {
    {"an exported file is the same memory wherever it is imported",
     an_exported_file_is_the_same_memory},
    {"a handle that was not made for export gives no file",
     what_was_not_made_for_export_gives_no_file},
    {"what is no file of the driver's is refused", any_other_file_is_refused},
    {"access is given to several devices at once", access_is_given_to_several_devices_at_once},
    {"peer access is enabled once", peer_access_is_enabled_once},
};

}  // namespace

std::span<const ContractClause> sharing_contract() { return kSharingClauses; }

}  // namespace forebay::test
