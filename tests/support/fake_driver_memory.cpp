// The fake driver's memory: reservations, physical handles, mappings, regions, pinned memory,
// copies.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/support/fake_driver_state.hpp"

namespace forebay::test {
namespace {

constexpr std::size_t kPage = 4096;

void* as_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// `bytes` of host addresses at a multiple of `alignment`, without memory; null if there are none.
void* reserve_addresses(std::size_t bytes, std::size_t alignment) {
  void* start = mmap(nullptr, bytes + alignment, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return nullptr;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t aligned = (first + alignment - 1) / alignment * alignment;
  if (aligned > first) {
    munmap(start, aligned - first);
  }
  munmap(reinterpret_cast<void*>(aligned + bytes), first + alignment - aligned);
  return reinterpret_cast<void*>(aligned);
}

/// The element of `ranges` that holds all of [address, address + bytes), or the end.
template <typename Ranges, typename Size>
auto holding(const Ranges& ranges, std::uintptr_t address, std::size_t bytes, Size size) {
  auto at = ranges.upper_bound(address);
  if (at == ranges.begin()) {
    return ranges.end();
  }
  --at;
  const std::size_t offset = address - at->first;
  const std::size_t room = size(at->second);
  return offset < room && bytes <= room - offset ? at : ranges.end();
}

constexpr auto kItself = [](std::size_t bytes) { return bytes; };
constexpr auto kBytesOf = [](const auto& entry) { return entry.bytes; };

constexpr const char* kExported = "fake_driver_exported";

/// Whether the file is one that a fake driver exported, of this process or of another one.
bool is_exported(int file) {
  char name[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return readlink(link.c_str(), name, sizeof name - 1) > 0 &&
         std::strstr(name, kExported) != nullptr;
}

bool overlaps_mapping(const FakeState& state, CUdeviceptr address, std::size_t bytes) {
  const auto after = state.mappings.lower_bound(address);
  if (after != state.mappings.end() && after->first < address + bytes) {
    return true;
  }
  return holding(state.mappings, address, 1, kBytesOf) != state.mappings.end();
}

}  // namespace

bool FakeState::is_device_memory(CUdeviceptr address) const {
  return holding(reservations, address, 1, kItself) != reservations.end() ||
         holding(regions, address, 1, kBytesOf) != regions.end();
}

CUresult FakeState::add_region(int device, std::size_t bytes, CUdeviceptr* address) {
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (whole > options.memory - used[static_cast<std::size_t>(device)]) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* start = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  used[static_cast<std::size_t>(device)] += whole;
  *address = reinterpret_cast<CUdeviceptr>(start);
  regions[*address] = {whole, device, false};
  return CUDA_SUCCESS;
}

void FakeState::drop_region(CUdeviceptr address) {
  const auto found = regions.find(address);
  munmap(as_pointer(address), found->second.bytes);
  used[static_cast<std::size_t>(found->second.device)] -= found->second.bytes;
  regions.erase(found);
}

bool FakeState::accessible(CUdeviceptr address, std::size_t bytes, int device) const {
  if (!is_device_memory(address)) {
    return holding(pinned, address, bytes, kItself) != pinned.end() ||
           holding(registered, address, bytes, kItself) != registered.end();
  }
  if (const auto region = holding(regions, address, bytes, kBytesOf); region != regions.end()) {
    const int owner = region->second.device;
    return owner == device || (peers[static_cast<std::size_t>(owner)] >> device & 1) != 0;
  }
  const CUdeviceptr end = address + bytes;
  while (address < end) {
    const auto mapping = holding(mappings, address, 1, kBytesOf);
    if (mapping == mappings.end() || (mapping->second.access >> device & 1) == 0) {
      return false;
    }
    address = mapping->first + mapping->second.bytes;
  }
  return true;
}

void FakeState::drop_physical(CUmemGenericAllocationHandle handle) {
  const FakePhysical& memory = physical.at(handle);
  if (memory.own_file) {
    close(memory.file);  // the memory goes when nobody has the file any more
  } else {
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, memory.offset,
              static_cast<off_t>(memory.bytes));
  }
  if (!memory.imported) {
    used[static_cast<std::size_t>(memory.device)] -= memory.bytes;
  }
  physical.erase(handle);
}

CUresult FakeCalls::cuMemGetInfo(std::size_t* free, std::size_t* total) {
  FAKE_CALL("cuMemGetInfo", context);
  *total = driver->options.memory;
  *free = *total - driver->used[static_cast<std::size_t>(driver.thread().device)];
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemGetAllocationGranularity(std::size_t* granularity,
                                                  const CUmemAllocationProp* kind,
                                                  CUmemAllocationGranularity_flags) {
  FAKE_CALL("cuMemGetAllocationGranularity", driver);
  if (kind->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *granularity = driver->options.granularity;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes,
                                        std::size_t alignment, CUdeviceptr, unsigned long long) {
  FAKE_CALL("cuMemAddressReserve", driver);
  const std::size_t granularity = driver->options.granularity;
  if (bytes == 0 || bytes % granularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  void* start = reserve_addresses(bytes, std::max(alignment, granularity));
  if (start == nullptr) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *address = reinterpret_cast<CUdeviceptr>(start);
  driver->reservations[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  FAKE_CALL("cuMemAddressFree", driver);
  const auto found = driver->reservations.find(address);
  if (found == driver->reservations.end() || found->second != bytes ||
      overlaps_mapping(*driver, address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  munmap(as_pointer(address), bytes);
  driver->reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                                const CUmemAllocationProp* kind, unsigned long long flags) {
  FAKE_CALL("cuMemCreate", driver);
  const int device = kind->location.id;
  const bool for_export = kind->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (kind->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
      (!for_export || !driver->options.export_files)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (bytes == 0 || bytes % driver->options.granularity != 0 || flags != 0 ||
      kind->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      kind->location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 ||
      device >= driver->options.devices) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::size_t& used = driver->used[static_cast<std::size_t>(device)];
  if (bytes > driver->options.memory - used) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const auto size = static_cast<std::int64_t>(bytes);
  FakePhysical memory{device, bytes, driver->file, driver->file_end};
  if (for_export) {
    memory.file = memfd_create(kExported, MFD_CLOEXEC);
    memory.own_file = true;
    memory.offset = 0;
  }
  if (memory.file < 0 || ftruncate(memory.file, memory.offset + size) != 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  used += bytes;
  driver->file_end += for_export ? 0 : size;
  *handle = driver->next_physical++;
  driver->physical[*handle] = memory;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle,
                                                 CUmemAllocationHandleType type,
                                                 unsigned long long flags) {
  FAKE_CALL("cuMemExportToShareableHandle", driver);
  const auto found = driver->physical.find(handle);
  if (found == driver->physical.end() || found->second.released || !found->second.own_file ||
      type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int copy = fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
  std::memcpy(shared, &copy, sizeof copy);
  return copy >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult FakeCalls::cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                   void* shared, CUmemAllocationHandleType type) {
  FAKE_CALL("cuMemImportFromShareableHandle", driver);
  const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  struct stat status {};
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !is_exported(file) ||
      fstat(file, &status) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FakePhysical memory{0, static_cast<std::size_t>(status.st_size), fcntl(file, F_DUPFD_CLOEXEC, 0)};
  if (memory.file < 0) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  memory.own_file = memory.imported = true;
  *handle = driver->next_physical++;
  driver->physical[*handle] = memory;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemRelease(CUmemGenericAllocationHandle handle) {
  FAKE_CALL("cuMemRelease", driver);
  const auto found = driver->physical.find(handle);
  if (found == driver->physical.end() || found->second.released) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->second.released = true;
  if (found->second.mappings > 0) {
    ++driver->releases_while_mapped;  // allowed: the memory goes with its last mapping
  } else {
    driver->drop_physical(handle);
  }
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  FAKE_CALL("cuMemMap", driver);
  const auto found = driver->physical.find(handle);
  if (found == driver->physical.end() || found->second.released || bytes == 0 || flags != 0 ||
      address % driver->options.granularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset != 0 || bytes != found->second.bytes) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (holding(driver->reservations, address, bytes, kItself) == driver->reservations.end() ||
      overlaps_mapping(*driver, address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (mmap(as_pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, found->second.file,
           found->second.offset) == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++found->second.mappings;
  driver->mappings[address] = {bytes, handle, 0};
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  FAKE_CALL("cuMemUnmap", driver);
  const auto after = driver->mappings.lower_bound(address + bytes);
  const auto last = after == driver->mappings.begin() ? driver->mappings.end() : std::prev(after);
  if (last == driver->mappings.end() || last->first + last->second.bytes <= address) {
    return CUDA_SUCCESS;  // nothing is mapped there, which the driver does not mind
  }
  const auto found = driver->mappings.find(address);
  if (found == driver->mappings.end() || found->second.bytes != bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  mmap(as_pointer(address), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  const CUmemGenericAllocationHandle handle = found->second.handle;
  driver->mappings.erase(found);
  FakePhysical& memory = driver->physical.at(handle);
  --memory.mappings;
  if (memory.released && memory.mappings == 0) {
    driver->drop_physical(handle);
  }
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemSetAccess(CUdeviceptr address, std::size_t bytes,
                                   const CUmemAccessDesc* access, std::size_t count) {
  FAKE_CALL("cuMemSetAccess", driver);
  // Whole mappings that lie side by side.
  const CUdeviceptr end = address + bytes;
  std::vector<FakeMapping*> covered;
  for (CUdeviceptr at = address; at < end;) {
    const auto found = driver->mappings.find(at);
    if (found == driver->mappings.end() || found->second.bytes > end - at) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    covered.push_back(&found->second);
    at += found->second.bytes;
  }
  if (covered.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int device = access[i].location.id;
    const bool there = device >= 0 && device < driver->options.devices;
    for (const FakeMapping* mapping : covered) {
      if (!there || !driver->reaches(device, driver->physical.at(mapping->handle).device)) {
        return CUDA_ERROR_INVALID_DEVICE;
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const bool gives = access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const std::uint64_t bit = std::uint64_t{1} << access[i].location.id;
    for (FakeMapping* mapping : covered) {
      mapping->access = gives ? mapping->access | bit : mapping->access & ~bit;
    }
  }
  mprotect(as_pointer(address), bytes,
           covered.front()->access != 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  FAKE_CALL("cuMemAlloc", context);
  if (const CUresult unsafe = driver.unsafe(); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  return driver->add_region(driver.thread().device, bytes, address);
}

CUresult FakeCalls::cuMemFree(CUdeviceptr address) {
  FAKE_CALL("cuMemFree", context);
  const auto found = driver->regions.find(address);
  if (found == driver->regions.end() || found->second.freed) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  driver->force_device(found->second.device);  // cuMemFree waits for the device
  driver->drop_region(address);
  return CUDA_SUCCESS;
}

// Memory comes at once and goes once the stream has come to its free.
CUresult FakeCalls::cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream handle) {
  FAKE_CALL("cuMemAllocAsync", context);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (stream->capture != nullptr) {
    return CUDA_ERROR_NOT_SUPPORTED;  // the fake has no graphs with memory of their own
  }
  return driver->add_region(driver.thread().device, bytes, address);
}

CUresult FakeCalls::cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  FAKE_CALL("cuMemFreeAsync", context);
  const auto found = driver->regions.find(address);
  if (found == driver->regions.end() || found->second.freed) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (driver->find_stream(handle) == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  found->second.freed = true;
  FakeState* const state = &*driver;
  return driver->submit_to(handle, "free", [state, address] { state->drop_region(address); });
}

CUresult FakeCalls::cuMemHostAlloc(void** address, std::size_t bytes, unsigned int) {
  FAKE_CALL("cuMemHostAlloc", context);
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  void* start = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  driver->pinned[reinterpret_cast<std::uintptr_t>(start)] = whole;
  *address = start;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemFreeHost(void* address) {
  FAKE_CALL("cuMemFreeHost", context);
  const auto found = driver->pinned.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == driver->pinned.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  munmap(address, found->second);
  driver->pinned.erase(found);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemHostRegister(void* address, std::size_t bytes, unsigned int) {
  FAKE_CALL("cuMemHostRegister", context);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto after = driver->registered.lower_bound(start);
  if ((after != driver->registered.end() && after->first < start + bytes) ||
      holding(driver->registered, start, 1, kItself) != driver->registered.end()) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  driver->registered[start] = bytes;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuMemHostUnregister(void* address) {
  FAKE_CALL("cuMemHostUnregister", context);
  return driver->registered.erase(reinterpret_cast<std::uintptr_t>(address)) == 1
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult FakeCalls::cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned int) {
  FAKE_CALL("cuMemHostGetDevicePointer", context);
  *device = reinterpret_cast<CUdeviceptr>(host);
  return driver->accessible(*device, 1, driver.thread().device) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult FakeCalls::cuPointerGetAttribute(void* data, CUpointer_attribute which,
                                          CUdeviceptr address) {
  FAKE_CALL("cuPointerGetAttribute", driver);
  const bool device = driver->is_device_memory(address);
  if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
      (!device && !driver->accessible(address, 1, 0))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *static_cast<unsigned int*>(data) = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  return CUDA_SUCCESS;
}

}  // namespace forebay::test
