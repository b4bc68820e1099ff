// A CUDA device as compute's CUDA backend sees it: the driver's table, the context, kernels.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "forebay/runtime/device.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/cuda/cuda_malloc_source.hpp"
#include "runtime/cuda/cuda_pinned_source.hpp"
#include "runtime/cuda/cuda_timeline.hpp"
#include "runtime/driver/cuda_api.hpp"

namespace forebay::cuda {

class Compiler;
class KernelCache;

[[nodiscard]] inline CUstream native(const Stream& stream) noexcept {
  return static_cast<CUstream>(stream.native());
}

/// What the driver says about a device without opening it. Throws DriverError.
[[nodiscard]] DeviceInfo describe_device(const driver::CudaApi& api, int index);

/// One CUDA device on its primary context.
/// Thread safety: every call may be made from any thread; calls that reach the driver make the
/// context current on the calling thread first.
class CudaDevice final : public Device {
 public:
  /// Retains the primary context, makes the pools and the default stream. Throws DeviceError (also
  /// for a configuration of the pool that the device cannot serve), DriverError.
  static std::shared_ptr<CudaDevice> open(std::shared_ptr<const driver::CudaApi> api, int index,
                                          const Config& config);
  ~CudaDevice() override;

  [[nodiscard]] const driver::CudaApi& api() const noexcept { return context_->api(); }
  /// Makes the context current on this thread and leaves it so; one driver call, about 10 ns, when
  /// it is already. Throws ClosedError, DriverError.
  void make_current() const;
  /// The same for cleaning up: false when no driver call may be made any more (the device has
  /// closed, the process ends, or it is a forked child), and whoever cleans up drops what it holds.
  [[nodiscard]] bool enter() const noexcept { return context_->enter(); }
  [[nodiscard]] KernelCache& kernels() noexcept { return *kernels_; }

  [[nodiscard]] Stream create_stream() override;
  [[nodiscard]] ExportedBlock export_block(const void* pointer) override;
  [[nodiscard]] ImportedBlock import_block(const ExportedBlock& block) override;
  void synchronize() override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t driver_calls() const noexcept override;

 private:
  class StreamState;

  CudaDevice(DeviceInfo info, Config config, std::shared_ptr<Context> context,
             std::unique_ptr<Compiler> compiler);
  void shut_down() noexcept override;
  [[nodiscard]] Stream make_stream(bool ends_with_handle);
  void end_stream(pool::StreamId id) noexcept;

  std::shared_ptr<Context> context_;
  std::shared_ptr<CudaMallocSource> memory_;
  std::shared_ptr<CudaPinnedSource> pinned_memory_;
  // One for each pool: each numbers the points of a stream by itself.
  std::shared_ptr<CudaTimeline> timeline_;
  std::shared_ptr<CudaTimeline> pinned_timeline_;
  std::shared_ptr<KernelCache> kernels_;
  std::mutex streams_mutex_;
  std::unordered_map<pool::StreamId, CUstream> streams_;  // streams_mutex_
};

}  // namespace forebay::cuda
