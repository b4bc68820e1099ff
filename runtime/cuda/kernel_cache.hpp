// Compiled kernels of one CUDA device, by their source.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "forebay/runtime/config.hpp"
#include "runtime/cuda/compile_queue.hpp"
#include "runtime/cuda/nvrtc_compiler.hpp"
#include "runtime/disk_cache.hpp"

namespace forebay::cuda {

class CudaDevice;

/// The cache on disk that the configuration describes; none if it is off. Of all that a process
/// makes, one warns when it cannot be used.
[[nodiscard]] std::unique_ptr<DiskCache> make_disk_cache(const KernelCacheConfig& config);

/// Compiles CUDA C++ with NVRTC to a cubin of the device's exact architecture, loads it, and keeps
/// it until the device closes. Source includes nothing; entry points are `extern "C"`. What a
/// process compiled, the next finds on disk, if there is a cache there.
///
/// Kernels that another path covers are `wanted`: the queue compiles and loads them, and their
/// users look whether they are ready.
///
/// Nothing is unloaded before that, since callers keep a CUfunction for as long as the device is
/// open, and graphs keep it longer than they run. The number of kernels follows that of programs,
/// whose keys hold no sizes; `kernels.loaded` of the statistics shows it.
///
/// Thread safety: any thread; two threads that want one kernel compile it once, and nobody waits
/// for the compilation of another kernel.
/// Cost of a hit: one hash of the source and one lookup; callers keep the CUfunction.
class KernelCache : public std::enable_shared_from_this<KernelCache> {
 public:
  /// Without `disk`, every process compiles for itself.
  KernelCache(CudaDevice& device, std::unique_ptr<Compiler> compiler,
              std::unique_ptr<DiskCache> disk);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// The kernel `entry` of `source`, loaded. Throws CompileError with the compiler's log (each
  /// time: what did not compile once is not compiled again), DriverError, ClosedError.
  [[nodiscard]] CUfunction get(std::string_view source, const std::string& entry);
  /// The kernel `entry` of what `source` gives, which is called when it is made: once somebody
  /// wants it, or waits for all.
  [[nodiscard]] std::shared_ptr<BackgroundKernel> background(std::function<std::string()> source,
                                                             std::string entry);
  /// Somebody would use the kernel if it were ready. Makes no call of the driver.
  void want(const std::shared_ptr<BackgroundKernel>& kernel) noexcept { queue_.want(kernel); }
  /// Makes all that somebody holds, and waits for it; false if that took longer than `limit`.
  bool settle(std::chrono::milliseconds limit) { return queue_.settle(limit); }

  /// Unloads everything, and drops what is wanted; a compilation that is under way ends by itself.
  /// REQUIRES: no launch is in flight and nobody else is inside `get`.
  void clear() noexcept;

 private:
  struct Entry {
    std::mutex mutex;           // held while compiling
    CUmodule module = nullptr;  // written under gate_
    CUfunction function = nullptr;
    std::exception_ptr failure;  // a CompileError
  };
  /// Who is behind a call: somebody who waits for it, or the queue.
  enum class Caller : std::uint8_t { waiting, queue };

  [[nodiscard]] CUfunction find(std::string_view source, const std::string& entry, Caller caller);
  [[nodiscard]] bool load_from_disk(Entry& kernel, const std::string& material,
                                    const std::string& entry);
  /// Returns the cubin, which is loaded.
  std::string compile(Entry& kernel, std::string_view source, const std::string& entry,
                      Caller caller);
  void load(Entry& kernel, const std::string& cubin, const std::string& entry);
  void make_current();
  void count(Counter KernelCounters::*counter, std::uint64_t more = 1);

  const std::uint32_t generation_;  // of the process that made it
  // A compilation that nobody waits for may end after the device has: its thread uses the device
  // only while it holds the gate, and not after `clear`.
  std::mutex gate_;
  bool closed_ = false;  // gate_
  CudaDevice& device_;   // gate_, on threads of the queue
  const std::unique_ptr<Compiler> compiler_;
  const std::unique_ptr<DiskCache> disk_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;  // mutex_; entry and source
  CompileQueue queue_;
};

}  // namespace forebay::cuda
