// Times by the events of a CUDA device.
#pragma once

#include <cuda.h>

#include "runtime/cuda/cuda_device.hpp"
#include "tools/forebay/device_timer.hpp"

namespace forebay::tools {

class CudaTimer final : public DeviceTimer {
 public:
  /// REQUIRES: a CUDA device. Throws DriverError.
  explicit CudaTimer(Device& device);
  ~CudaTimer() override;
  [[nodiscard]] double seconds(const std::function<void()>& enqueue) override;

 private:
  cuda::CudaDevice& device_;
  CUevent start_ = nullptr;
  CUevent end_ = nullptr;
};

}  // namespace forebay::tools
