// A libcuda.so.1 that is wrong in the way that the environment says.
#include <cuda.h>

#include <cstdlib>
#include <cstring>

namespace {

const char* wanted(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

/// Stands for every function: there is no device.
CUresult no_device() { return CUDA_ERROR_NO_DEVICE; }

}  // namespace

#define SAMPLE_EXPORT extern "C" __attribute__((visibility("default")))

SAMPLE_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = std::atoi(wanted("SAMPLE_VERSION"));
  return CUDA_SUCCESS;
}

SAMPLE_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** address, int, cuuint64_t,
                                           CUdriverProcAddressQueryResult* found) {
  const bool missing = std::strcmp(name, wanted("SAMPLE_MISSING")) == 0;
  *address = missing ? nullptr : reinterpret_cast<void*>(&no_device);
  *found = missing ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}
