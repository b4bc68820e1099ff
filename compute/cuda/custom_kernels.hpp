// The kernels that layers above bring along, on one device.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <unordered_map>

#include "forebay/compute/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// Finds each kernel once: in its image, or compiled from its source where the image is empty or
/// has nothing for the device, which is told of once in the log. May be used while a stream
/// captures. `kernels.loaded` counts those from images.
///
/// Thread safety: none; the backend's calls are serialised. REQUIRES: nothing is in flight when it
/// ends.
class CustomKernels {
 public:
  explicit CustomKernels(CudaDevice& device) : device_(device) {}
  ~CustomKernels();
  CustomKernels(const CustomKernels&) = delete;
  CustomKernels& operator=(const CustomKernels&) = delete;

  /// Throws CompileError, DriverError. `kernel` stays where it is for as long as the device.
  [[nodiscard]] CUfunction function(const compute::CustomKernel& kernel);

 private:
  /// Null if the image has nothing for the device.
  [[nodiscard]] CUfunction load(const compute::CustomKernel& kernel);

  CudaDevice& device_;
  std::unordered_map<const compute::CustomKernel*, CUfunction> functions_;
  std::unordered_map<const std::byte*, CUmodule> modules_;  // by image; null: none
  std::size_t loaded_ = 0;
};

}  // namespace forebay::cuda
