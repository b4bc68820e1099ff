// cuBLASLt, the library for matrix products, as a table of functions filled at first use.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>

#include "runtime/driver/entry.hpp"

namespace forebay::driver {

// clang-format off
#define FOREBAY_CUBLASLT_FUNCTIONS(X)          \
  X(cublasLtGetVersion)                        \
  X(cublasLtGetStatusName)                     \
  X(cublasLtGetStatusString)                   \
  X(cublasLtCreate)                            \
  X(cublasLtDestroy)                           \
  X(cublasLtMatmulDescCreate)                  \
  X(cublasLtMatmulDescDestroy)                 \
  X(cublasLtMatmulDescSetAttribute)            \
  X(cublasLtMatrixLayoutCreate)                \
  X(cublasLtMatrixLayoutDestroy)               \
  X(cublasLtMatrixLayoutSetAttribute)          \
  X(cublasLtMatmulPreferenceCreate)            \
  X(cublasLtMatmulPreferenceDestroy)           \
  X(cublasLtMatmulPreferenceSetAttribute)      \
  X(cublasLtMatmulAlgoGetHeuristic)            \
  X(cublasLtMatmulAlgoConfigGetAttribute)      \
  X(cublasLtMatmulAlgoConfigSetAttribute)      \
  X(cublasLtMatmulAlgoCheck)                   \
  X(cublasLtMatmul)
// clang-format on

/// Every function keeps cuBLASLt's name.
/// Thread safety: as the library's own: a handle serves any thread.
struct CublasLtApi {
#define FOREBAY_ENTRY(name) Entry<decltype(::name)> name;
  FOREBAY_CUBLASLT_FUNCTIONS(FOREBAY_ENTRY)
#undef FOREBAY_ENTRY

  std::string path;  ///< the file it came from

  /// Opens the newest cuBLASLt that a driver of `driver_version` runs. Takes tens of milliseconds.
  /// Throws DriverError saying where it looked.
  [[nodiscard]] static std::shared_ptr<const CublasLtApi> open(int driver_version);
};

/// Throws DriverError naming `call`, the status and its text, unless `status` is a success.
void check(const CublasLtApi& api, cublasStatus_t status, const char* call);

}  // namespace forebay::driver
