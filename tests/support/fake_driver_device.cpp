// The fake driver's devices, contexts, errors, modules and launches.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "tests/support/fake_driver_state.hpp"

namespace forebay::test {
namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(CUresult code) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [&](const ErrorText& error) { return error.code == code; });
  return found != std::end(kErrors) ? found : nullptr;
}

/// Bytes of the ELF file that starts at `image`; 0 if none does.
std::size_t elf_size(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return 0;
  }
  std::size_t end = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  const std::size_t programs = header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize;
  return std::max(end, programs);
}

/// A fat binary holds code for several architectures, packed: which kernels, the fake cannot tell.
bool is_fat(const void* image) {
  constexpr std::uint32_t kMagic = 0xBA55ED50;
  return std::memcmp(image, &kMagic, sizeof kMagic) == 0;
}

}  // namespace

CUresult FakeCalls::cuInit(unsigned int flags) {
  FAKE_CALL("cuInit", nothing);
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  driver->initialised = true;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDriverGetVersion(int* version) {
  FAKE_CALL("cuDriverGetVersion", nothing);
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGetErrorName(CUresult error, const char** text) {
  const ErrorText* found = find_error(error);
  *text = found != nullptr ? found->name : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult FakeCalls::cuGetErrorString(CUresult error, const char** text) {
  const ErrorText* found = find_error(error);
  *text = found != nullptr ? found->text : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult FakeCalls::cuDeviceGetCount(int* count) {
  FAKE_CALL("cuDeviceGetCount", driver);
  *count = driver->options.devices;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_CALL("cuDeviceGet", driver);
  if (ordinal < 0 || ordinal >= driver->options.devices) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDeviceGetName(char* name, int length, CUdevice device) {
  FAKE_CALL("cuDeviceGetName", driver);
  std::snprintf(name, static_cast<std::size_t>(length), "Fake device %d", device);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  FAKE_CALL("cuDeviceGetAttribute", driver);
  if (device < 0 || device >= driver->options.devices) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      *value = driver->options.virtual_memory ? 1 : 0;
      break;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      *value = driver->options.export_files ? 1 : 0;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDeviceTotalMem(std::size_t* bytes, CUdevice /*device*/) {
  FAKE_CALL("cuDeviceTotalMem", driver);
  *bytes = driver->options.memory;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  FAKE_CALL("cuDeviceCanAccessPeer", driver);
  const int devices = driver->options.devices;
  if (device < 0 || device >= devices || peer < 0 || peer >= devices) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *can = device != peer && driver->reaches(device, peer) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  FAKE_CALL("cuDevicePrimaryCtxRetain", driver);
  if (device < 0 || device >= driver->options.devices) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  ++driver->retained[static_cast<std::size_t>(device)];
  *context = fake_context(device);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDevicePrimaryCtxRelease(CUdevice device) {
  FAKE_CALL("cuDevicePrimaryCtxRelease", driver);
  int& retained = driver->retained.at(static_cast<std::size_t>(device));
  if (retained == 0) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (--retained == 0) {
    // Access between contexts ends with either of them.
    driver->peers[static_cast<std::size_t>(device)] = 0;
    for (std::uint64_t& peers : driver->peers) {
      peers &= ~(std::uint64_t{1} << device);
    }
  }
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  FAKE_CALL("cuDevicePrimaryCtxGetState", driver);
  *flags = 0;
  *active = driver->retained.at(static_cast<std::size_t>(device)) > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuCtxSetCurrent(CUcontext context) {
  FAKE_CALL("cuCtxSetCurrent", driver);
  driver.thread().device = fake_device_of(context);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuCtxGetCurrent(CUcontext* context) {
  FAKE_CALL("cuCtxGetCurrent", driver);
  const int device = driver.thread().device;
  *context = device < 0 ? nullptr : fake_context(device);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuCtxSynchronize() {
  FAKE_CALL("cuCtxSynchronize", context);
  if (const CUresult unsafe = driver.unsafe(); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  driver->force_device(driver.thread().device);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuCtxEnablePeerAccess(CUcontext context, unsigned int flags) {
  FAKE_CALL("cuCtxEnablePeerAccess", context);
  const int device = driver.thread().device;
  const int memory = fake_device_of(context);
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (memory < 0 || memory >= driver->options.devices || memory == device ||
      driver->retained[static_cast<std::size_t>(memory)] == 0) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!driver->reaches(device, memory)) {
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  std::uint64_t& peers = driver->peers[static_cast<std::size_t>(memory)];
  const std::uint64_t bit = std::uint64_t{1} << device;
  if ((peers & bit) != 0) {
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  }
  peers |= bit;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_CALL("cuModuleLoadData", context);
  const std::size_t size = elf_size(image);
  if (size == 0 && !is_fat(image)) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *module = driver->module_numbers.take();
  driver->modules[*module].image.assign(static_cast<const char*>(image), size);
  driver->modules[*module].fat = size == 0;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuModuleUnload(CUmodule module) {
  FAKE_CALL("cuModuleUnload", context);
  const auto found = driver->modules.find(module);
  if (found == driver->modules.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  for (CUfunction function : found->second.functions) {
    driver->function_numbers.give(function);
  }
  driver->modules.erase(found);
  driver->module_numbers.give(module);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE_CALL("cuModuleGetFunction", context);
  const auto found = driver->modules.find(module);
  if (found == driver->modules.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // The text of a kernel lies in a section of its own, named after it.
  if (!found->second.fat &&
      found->second.image.find(std::string(".text.") + name + '\0') == std::string::npos) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = driver->function_numbers.take();
  found->second.functions.push_back(*function);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuModuleGetGlobal(CUdeviceptr*, std::size_t*, CUmodule, const char*) {
  FAKE_CALL("cuModuleGetGlobal", context);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult FakeCalls::cuFuncLoad(CUfunction function) {
  FAKE_CALL("cuFuncLoad", context);
  return function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult FakeCalls::cuFuncGetAttribute(int*, CUfunction_attribute, CUfunction) {
  FAKE_CALL("cuFuncGetAttribute", context);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult FakeCalls::cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  FAKE_CALL("cuFuncSetAttribute", context);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int,
                                                                std::size_t) {
  FAKE_CALL("cuOccupancyMaxActiveBlocksPerMultiprocessor", context);
  *blocks = 2;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuLaunchKernel(CUfunction function, unsigned grid, unsigned, unsigned,
                                   unsigned block, unsigned, unsigned, unsigned shared_bytes,
                                   CUstream stream, void**, void**) {
  FAKE_CALL("cuLaunchKernel", context);
  if (!driver->options.count_launches) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  ++driver->launches;
  driver->last_launch = {function, grid, block, shared_bytes, 0};
  return driver->submit_to(stream, "kernel", [] {});
}

CUresult FakeCalls::cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void**, void**) {
  FAKE_CALL("cuLaunchKernelEx", context);
  if (!driver->options.count_launches) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  ++driver->launches;
  return driver->submit_to(config->hStream, "kernel", [] {});
}

}  // namespace forebay::test
