// CUDA C++ to a cubin, in memory. Needs NVRTC, no driver and no device.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/driver/nvrtc_api.hpp"
#include "runtime/kernel_key.hpp"

namespace forebay::cuda {

struct CompileOptions {
  std::string architecture;    ///< exact, "sm_90"
  bool compiler_cache = true;  ///< whether NVRTC may use its cache on disk (from 12.9 on)
};

/// Compiles `source`, which includes nothing, as C++17 with contraction off. `name` stands for the
/// source in messages. Throws CompileError with the compiler's log, DriverError.
/// Cost: tens of milliseconds.
[[nodiscard]] std::string compile_cubin(const driver::NvrtcApi& nvrtc, std::string_view source,
                                        const std::string& name, const CompileOptions& options);

/// All that decides what `compile_cubin` makes of a source.
[[nodiscard]] KernelKey kernel_key(const driver::NvrtcApi& nvrtc, std::string_view source,
                                   const std::string& name, const CompileOptions& options);

/// NVRTC, opened at first use, with the options of one device. Tests put others in its place.
/// Thread safety: any thread.
class Compiler {
 public:
  /// `driver_version` as cuDriverGetVersion gives it.
  Compiler(int driver_version, CompileOptions options);
  virtual ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Opens NVRTC, and compiles an empty kernel on a thread of its own, which takes some 50 ms off
  /// the first kernel that somebody waits for. Returns at once.
  void prepare();
  /// Waits for that thread. Before the process ends somebody must: NVRTC's own exit handlers take
  /// away what a compilation still uses.
  void settle() noexcept;
  /// As `compile_cubin`; throws DriverError also when NVRTC cannot be opened.
  [[nodiscard]] virtual std::string compile(std::string_view source, const std::string& name);
  /// As `kernel_key`; throws DriverError when NVRTC cannot be opened.
  [[nodiscard]] virtual KernelKey key(std::string_view source, const std::string& name);

 private:
  [[nodiscard]] std::shared_ptr<const driver::NvrtcApi> nvrtc();

  const int driver_version_;
  const CompileOptions options_;
  const std::uint32_t generation_;                 // of the process that made it
  std::mutex mutex_;                               // held while opening
  std::shared_ptr<const driver::NvrtcApi> nvrtc_;  // mutex_
  std::unique_ptr<std::thread> warm_up_;
};

}  // namespace forebay::cuda
