// NVRTC, the compiler for generated kernels, as a table of functions filled at first use.
#pragma once

#include <nvrtc.h>

#include <memory>
#include <string>

#include "runtime/driver/entry.hpp"

namespace forebay::driver {

// clang-format off
#define FOREBAY_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                  \
  X(nvrtcGetErrorString)           \
  X(nvrtcGetNumSupportedArchs)     \
  X(nvrtcGetSupportedArchs)        \
  X(nvrtcCreateProgram)            \
  X(nvrtcDestroyProgram)           \
  X(nvrtcCompileProgram)           \
  X(nvrtcGetProgramLogSize)        \
  X(nvrtcGetProgramLog)            \
  X(nvrtcGetCUBINSize)             \
  X(nvrtcGetCUBIN)
// clang-format on

/// Every function keeps NVRTC's name. Works without a driver.
/// Thread safety: as NVRTC's own: any thread, one thread a program.
struct NvrtcApi {
#define FOREBAY_ENTRY(name) Entry<decltype(::name)> name;
  FOREBAY_NVRTC_FUNCTIONS(FOREBAY_ENTRY)
#undef FOREBAY_ENTRY

  int version = 0;   ///< 13000 is NVRTC 13.0
  std::string path;  ///< the file it came from
  /// Tells builds of one version apart (12.8 has had several): the file's size and time stamp.
  std::string build;

  /// Opens the newest NVRTC that a driver of `driver_version` can follow (0: the newest there is).
  /// Throws DriverError saying where it looked.
  [[nodiscard]] static std::shared_ptr<const NvrtcApi> open(int driver_version = 0);
};

/// Throws DriverError naming `call` and the error's text, unless `result` is a success.
void check(const NvrtcApi& api, nvrtcResult result, const char* call);

}  // namespace forebay::driver
