// A CUDA device as compute's CUDA backend sees it: the driver's table, the context, kernels.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "forebay/runtime/device.hpp"
#include "runtime/driver/cuda_api.hpp"

namespace forebay::cuda {

class KernelCache;

/// One CUDA device on its primary context.
/// Thread safety: every call may be made from any thread; calls that reach the driver make the
/// context current on the calling thread first.
class CudaDevice final : public Device {
 public:
  /// Retains the primary context, makes the pools and the default stream. Throws DeviceError,
  /// DriverError.
  static std::shared_ptr<CudaDevice> open(std::shared_ptr<const driver::CudaApi> api, int index,
                                          const Config& config);
  ~CudaDevice() override;

  [[nodiscard]] const driver::CudaApi& api() const noexcept { return *api_; }
  /// Makes the context current on this thread (a thread-local comparison when it is already).
  void make_current() const;
  [[nodiscard]] KernelCache& kernels() noexcept { return *kernels_; }

  [[nodiscard]] Stream create_stream() override;
  void synchronize() override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t driver_calls() const noexcept override;

 private:
  CudaDevice(DeviceInfo info, Config config, std::shared_ptr<const driver::CudaApi> api);
  void shut_down() noexcept override;

  std::shared_ptr<const driver::CudaApi> api_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::unique_ptr<KernelCache> kernels_;
};

}  // namespace forebay::cuda
