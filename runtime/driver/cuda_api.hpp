// The CUDA driver as a table of functions, filled when a program runs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/driver/entry.hpp"

namespace forebay::driver {

/// The oldest driver that is served, as cuDriverGetVersion says it: CUDA 12.4, release 550.
inline constexpr int kMinimumDriver = 12040;

// X(function, version): the driver's interface version at which the entry point is asked for.
// clang-format off
#define FOREBAY_CUDA_FUNCTIONS(X)                        \
  X(cuInit, 2000)                                        \
  X(cuDriverGetVersion, 2020)                            \
  X(cuGetErrorName, 6000)                                \
  X(cuGetErrorString, 6000)                              \
  X(cuDeviceGetCount, 2000)                              \
  X(cuDeviceGet, 2000)                                   \
  X(cuDeviceGetName, 2000)                               \
  X(cuDeviceGetAttribute, 2000)                          \
  X(cuDeviceTotalMem, 3020)                              \
  X(cuDeviceCanAccessPeer, 4000)                         \
  X(cuDevicePrimaryCtxRetain, 7000)                      \
  X(cuDevicePrimaryCtxRelease, 11000)                    \
  X(cuDevicePrimaryCtxGetState, 7000)                    \
  X(cuCtxSetCurrent, 4000)                               \
  X(cuCtxGetCurrent, 4000)                               \
  X(cuCtxSynchronize, 2000)                              \
  X(cuCtxEnablePeerAccess, 4000)                         \
  X(cuMemGetInfo, 3020)                                  \
  X(cuMemAlloc, 3020)                                    \
  X(cuMemFree, 3020)                                     \
  X(cuMemAllocAsync, 11020)                              \
  X(cuMemFreeAsync, 11020)                               \
  X(cuMemHostAlloc, 2020)                                \
  X(cuMemFreeHost, 2000)                                 \
  X(cuMemHostRegister, 6050)                             \
  X(cuMemHostUnregister, 4000)                           \
  X(cuMemHostGetDevicePointer, 3020)                     \
  X(cuPointerGetAttribute, 4000)                         \
  X(cuMemAddressReserve, 10020)                          \
  X(cuMemAddressFree, 10020)                             \
  X(cuMemCreate, 10020)                                  \
  X(cuMemRelease, 10020)                                 \
  X(cuMemMap, 10020)                                     \
  X(cuMemUnmap, 10020)                                   \
  X(cuMemSetAccess, 10020)                               \
  X(cuMemGetAllocationGranularity, 10020)                \
  X(cuMemExportToShareableHandle, 10020)                 \
  X(cuMemImportFromShareableHandle, 10020)               \
  X(cuMemcpyAsync, 4000)                                 \
  X(cuMemcpyHtoDAsync, 3020)                             \
  X(cuMemcpyDtoHAsync, 3020)                             \
  X(cuMemcpyDtoDAsync, 3020)                             \
  X(cuMemsetD8Async, 3020)                               \
  X(cuMemsetD32Async, 3020)                              \
  X(cuStreamCreate, 2000)                                \
  X(cuStreamDestroy, 4000)                               \
  X(cuStreamGetId, 12000)                                \
  X(cuStreamQuery, 2000)                                 \
  X(cuStreamSynchronize, 2000)                           \
  X(cuStreamWaitEvent, 3020)                             \
  X(cuStreamIsCapturing, 10000)                          \
  X(cuStreamBeginCapture, 10010)                         \
  X(cuStreamEndCapture, 10000)                           \
  X(cuThreadExchangeStreamCaptureMode, 10010)            \
  X(cuLaunchHostFunc, 10000)                             \
  X(cuEventCreate, 2000)                                 \
  X(cuEventDestroy, 4000)                                \
  X(cuEventRecord, 2000)                                 \
  X(cuEventQuery, 2000)                                  \
  X(cuEventSynchronize, 2000)                            \
  X(cuEventElapsedTime, 2000)                            \
  X(cuGraphCreate, 10000)                                \
  X(cuGraphAddKernelNode, 12000)                         \
  X(cuGraphInstantiateWithFlags, 11040)                  \
  X(cuGraphExecKernelNodeSetParams, 12000)               \
  X(cuGraphExecUpdate, 12000)                            \
  X(cuGraphGetNodes, 10000)                              \
  X(cuGraphLaunch, 10000)                                \
  X(cuGraphExecDestroy, 10000)                           \
  X(cuGraphDestroy, 10000)                               \
  X(cuModuleLoadData, 2000)                              \
  X(cuModuleUnload, 2000)                                \
  X(cuModuleGetFunction, 2000)                           \
  X(cuModuleGetGlobal, 3020)                             \
  X(cuFuncLoad, 12040)                                   \
  X(cuFuncGetAttribute, 2020)                            \
  X(cuFuncSetAttribute, 9000)                            \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)   \
  X(cuLaunchKernel, 4000)                                \
  X(cuLaunchKernelEx, 11060)
// clang-format on

/// Every function keeps the driver's name: `api.cuMemCreate(&handle, bytes, &prop, 0)`. cuda.h
/// renames some of them by macro (cuMemAlloc to cuMemAlloc_v2); whoever uses the table includes it.
/// Thread safety: as the driver's own.
struct CudaApi {
#define FOREBAY_ENTRY(name, version) Entry<decltype(::name)> name;
  FOREBAY_CUDA_FUNCTIONS(FOREBAY_ENTRY)
#undef FOREBAY_ENTRY

  int version = 0;               ///< what cuDriverGetVersion says: 13000 is CUDA 13.0
  double init_seconds = 0;       ///< how long cuInit took
  std::uint32_t generation = 0;  ///< process::generation() when cuInit was called

  /// Opens libcuda.so.1, fills the table and calls cuInit. Throws DeviceError when there is no
  /// driver, it is older than kMinimumDriver, or it does not start.
  [[nodiscard]] static std::shared_ptr<const CudaApi> open();

  /// Whether the driver may still be called: not after the exit of the process began (its own exit
  /// handlers end it), and not in a forked child. Everything that cleans up asks first.
  /// Cost: two relaxed loads.
  [[nodiscard]] bool usable() const noexcept;

  /// Calls of all functions so far. Cost: one load for each function.
  [[nodiscard]] std::uint64_t calls() const noexcept;
};

/// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
[[nodiscard]] std::string describe(const CudaApi& api, CUresult result);

/// Throws DriverError naming `call`, the error and its text.
[[noreturn]] void throw_driver_error(const CudaApi& api, CUresult result, const char* call);

/// Throws DriverError unless `result` is a success; `call` is the function's name.
inline void check(const CudaApi& api, CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) [[unlikely]] {
    throw_driver_error(api, result, call);
  }
}

}  // namespace forebay::driver
