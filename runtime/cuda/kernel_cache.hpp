// Compiled kernels of one CUDA device, by the digest of their source.
#pragma once

#include <cuda.h>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace forebay::cuda {

class CudaDevice;

/// Compiles CUDA C++ with NVRTC to a cubin of the device's exact architecture, loads it, and keeps
/// it until the device closes. Source includes nothing; entry points are `extern "C"`.
///
/// Thread safety: any thread; two threads that want one kernel compile it once.
/// Cost of a hit: one hash of the source and one lookup; callers keep the CUfunction.
class KernelCache {
 public:
  explicit KernelCache(CudaDevice& device) : device_(device) {}
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// Throws CompileError with the compiler's log, DriverError.
  [[nodiscard]] CUfunction get(std::string_view source, const std::string& entry);
  /// Unloads everything. REQUIRES: no launch is in flight.
  void clear() noexcept;

 private:
  struct Entry {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
  };
  CudaDevice& device_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;  // mutex_; key: entry point and source
};

}  // namespace forebay::cuda
