// Clauses on memory: reserving, creating, mapping, access, and what the driver refuses.
#include <algorithm>

#include "tests/support/driver_contract.hpp"
#include "tests/support/driver_pieces.hpp"

namespace forebay::test {
namespace {

using driver::CudaApi;

void a_device_that_is_not_there(const DriverUnderTest& driver) {
  int count = 0;
  REQUIRE(driver.api->cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CUdevice device = 0;
  CHECK(driver.api->cuDeviceGet(&device, count) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(driver.api->cuDeviceGet(&device, -1) == CUDA_ERROR_INVALID_DEVICE);
}

void allocation_needs_a_current_context(const DriverUnderTest& driver) {
  REQUIRE(driver.api->cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(driver.api->cuMemAlloc(&address, 4096) == CUDA_ERROR_INVALID_CONTEXT);
}

void addresses_cost_no_memory(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  std::size_t total = 0;
  REQUIRE(api.cuDeviceTotalMem(&total, 0) == CUDA_SUCCESS);
  const std::size_t unit = granule(api);
  const TestRange range(api, total / unit * unit * 8);
  CHECK(range.at() % unit == 0);
}

void addresses_are_freed_whole(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 4 * unit);
  CHECK(api.cuMemAddressFree(range.at(), unit) != CUDA_SUCCESS);
  CHECK(api.cuMemAddressFree(range.at(unit), 3 * unit) != CUDA_SUCCESS);
}

void handles_come_in_granules(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const CUmemAllocationProp kind = device_memory();
  CUmemGenericAllocationHandle handle = 0;
  CHECK(api.cuMemCreate(&handle, granule(api) + 4096, &kind, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(api.cuMemCreate(&handle, 0, &kind, 0) == CUDA_ERROR_INVALID_VALUE);
}

void more_than_there_is_runs_out(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  std::size_t total = 0;
  REQUIRE(api.cuDeviceTotalMem(&total, 0) == CUDA_SUCCESS);
  const std::size_t unit = granule(api);
  const CUmemAllocationProp kind = device_memory();
  CUmemGenericAllocationHandle handle = 0;
  CHECK(api.cuMemCreate(&handle, total / unit * unit * 2, &kind, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr address = 0;
  CHECK(api.cuMemAlloc(&address, total * 2) == CUDA_ERROR_OUT_OF_MEMORY);
}

void memory_comes_and_goes_in_stream_order(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  CUdeviceptr address = 0;
  REQUIRE(api.cuMemAllocAsync(&address, 4096, stream.get()) == CUDA_SUCCESS);
  CHECK(address % 256 == 0);
  CHECK(api.cuMemsetD8Async(address, 7, 4096, stream.get()) == CUDA_SUCCESS);
  unsigned char read[4096] = {};
  CHECK(api.cuMemcpyDtoHAsync(read, address, sizeof read, stream.get()) == CUDA_SUCCESS);
  CHECK(api.cuMemFreeAsync(address, stream.get()) == CUDA_SUCCESS);
  REQUIRE(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  CHECK(std::all_of(read, read + sizeof read, [](unsigned char c) { return c == 7; }));
  std::size_t total = 0;
  REQUIRE(api.cuDeviceTotalMem(&total, 0) == CUDA_SUCCESS);
  CHECK(api.cuMemAllocAsync(&address, total * 2, stream.get()) == CUDA_ERROR_OUT_OF_MEMORY);
}

void a_handle_is_mapped_whole(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 4 * unit);
  TestHandle handle(api, 2 * unit);
  CHECK(api.cuMemMap(range.at(), unit, 0, handle.get(), 0) != CUDA_SUCCESS);
  CHECK(api.cuMemMap(range.at(), unit, unit, handle.get(), 0) != CUDA_SUCCESS);
  CHECK(api.cuMemMap(range.at(), 3 * unit, 0, handle.get(), 0) != CUDA_SUCCESS);
  handle.map(range.at(unit));  // at any granule
}

void a_mapping_is_in_nobodys_way(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 4 * unit);
  TestHandle first(api, 2 * unit);
  const TestHandle second(api, 2 * unit);
  first.map(range.at());
  CHECK(api.cuMemMap(range.at(), 2 * unit, 0, second.get(), 0) != CUDA_SUCCESS);
  CHECK(api.cuMemMap(range.at(unit), 2 * unit, 0, second.get(), 0) != CUDA_SUCCESS);
}

void access_covers_mapped_memory_only(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 4 * unit);
  const TestHandle handle(api, unit);
  CHECK(give_access(api, range.at(), unit) != CUDA_SUCCESS);
  REQUIRE(api.cuMemMap(range.at(), unit, 0, handle.get(), 0) == CUDA_SUCCESS);
  CHECK(give_access(api, range.at(), 2 * unit) != CUDA_SUCCESS);
  CHECK(give_access(api, range.at(), unit) == CUDA_SUCCESS);
  CHECK(api.cuMemUnmap(range.at(), unit) == CUDA_SUCCESS);
}

void access_may_cover_neighbours_at_once(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 2 * unit);
  const TestHandle first(api, unit);
  const TestHandle second(api, unit);
  REQUIRE(api.cuMemMap(range.at(), unit, 0, first.get(), 0) == CUDA_SUCCESS);
  REQUIRE(api.cuMemMap(range.at(unit), unit, 0, second.get(), 0) == CUDA_SUCCESS);
  REQUIRE(give_access(api, range.at(), 2 * unit) == CUDA_SUCCESS);
  {
    // One fill and one copy across the border of the two.
    const TestStream stream(api);
    fill(api, range.at(unit - 512), 0x5a, 1024, stream.get());
    const auto bytes = read(api, range.at(unit - 512), 1024, stream.get());
    CHECK(std::count(bytes.begin(), bytes.end(), 0x5a) == 1024);
  }
  CHECK(api.cuMemUnmap(range.at(), unit) == CUDA_SUCCESS);
  CHECK(api.cuMemUnmap(range.at(unit), unit) == CUDA_SUCCESS);
}

void unmapping_takes_whole_mappings(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 4 * unit);
  TestHandle handle(api, 2 * unit);
  CHECK(api.cuMemUnmap(range.at(), unit) == CUDA_SUCCESS);  // nothing is mapped there
  handle.map(range.at());
  CHECK(api.cuMemUnmap(range.at(), unit) != CUDA_SUCCESS);
  CHECK(api.cuMemUnmap(range.at(unit), unit) != CUDA_SUCCESS);
}

void a_handle_moves_with_its_bytes(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, 4 * unit);
  TestHandle handle(api, unit);
  const TestStream stream(api);
  handle.map(range.at());
  fill(api, range.at(), 0x3c, unit, stream.get());
  CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  handle.unmap();
  handle.map(range.at(3 * unit));
  const auto bytes = read(api, range.at(3 * unit), unit, stream.get());
  CHECK(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), 0x3c)) == unit);
}

void released_memory_stays_while_mapped(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, unit);
  TestHandle handle(api, unit);
  const TestStream stream(api);
  handle.map(range.at());
  handle.release();
  fill(api, range.at(), 0x77, unit, stream.get());
  const auto bytes = read(api, range.at(), 16, stream.get());
  CHECK(std::count(bytes.begin(), bytes.end(), 0x77) == 16);
}

void pinned_memory_is_the_hosts_too(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  constexpr std::size_t kBytes = 8192;
  void* pinned = nullptr;
  REQUIRE(api.cuMemHostAlloc(&pinned, kBytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS);
  CUdeviceptr device = 0;
  REQUIRE(api.cuMemAlloc(&device, kBytes) == CUDA_SUCCESS);
  auto* bytes = static_cast<unsigned char*>(pinned);
  std::fill_n(bytes, kBytes, 0x42);
  CHECK(api.cuMemcpyHtoDAsync(device, pinned, kBytes, stream.get()) == CUDA_SUCCESS);
  CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  std::fill_n(bytes, kBytes, 0);
  CHECK(api.cuMemcpyDtoHAsync(pinned, device, kBytes, stream.get()) == CUDA_SUCCESS);
  CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  CHECK(std::count(bytes, bytes + kBytes, 0x42) == kBytes);
  CHECK(api.cuMemFree(device) == CUDA_SUCCESS);
  CHECK(api.cuMemFreeHost(pinned) == CUDA_SUCCESS);
}

constexpr ContractClause kMemoryClauses[] = {
    {"a device that is not there is refused", a_device_that_is_not_there},
    {"an allocation needs a current context", allocation_needs_a_current_context},
    {"addresses cost no memory and are aligned", addresses_cost_no_memory},
    {"addresses are freed whole or not at all", addresses_are_freed_whole},
    {"handles come in granules", handles_come_in_granules},
    {"more memory than there is runs out", more_than_there_is_runs_out},
    {"memory comes and goes in stream order", memory_comes_and_goes_in_stream_order},
    {"a handle is mapped whole or not at all", a_handle_is_mapped_whole},
    {"nothing is mapped over a mapping", a_mapping_is_in_nobodys_way},
    {"access covers mapped memory only", access_covers_mapped_memory_only},
    {"access may cover neighbours at once", access_may_cover_neighbours_at_once},
    {"unmapping takes whole mappings", unmapping_takes_whole_mappings},
    {"a handle moves with its bytes", a_handle_moves_with_its_bytes},
    {"released memory stays while it is mapped", released_memory_stays_while_mapped},
    {"pinned memory is the host's and the device's", pinned_memory_is_the_hosts_too},
};

}  // namespace

std::span<const ContractClause> memory_contract() { return kMemoryClauses; }

}  // namespace forebay::test
