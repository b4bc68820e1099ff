// The interpreter kernels on one device.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "compute/cuda/interpreter_image.hpp"
#include "compute/cuda/interpreter_plan.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// Loads them when it is made, so that no launch does; `kernels.loaded` counts them. May be made
/// while a stream captures.
/// Thread safety: immutable. REQUIRES: nothing is in flight when it ends.
class InterpreterKernels {
 public:
  /// Throws DriverError, also when the image has nothing for the device's architecture.
  InterpreterKernels(CudaDevice& device, const InterpreterImage& image);
  ~InterpreterKernels();
  InterpreterKernels(const InterpreterKernels&) = delete;
  InterpreterKernels& operator=(const InterpreterKernels&) = delete;

  /// REQUIRES: exists(kernel, length).
  [[nodiscard]] CUfunction function(InterpreterKernel kernel,
                                    ParameterLength length) const noexcept {
    return functions_[static_cast<std::size_t>(length)][static_cast<std::size_t>(kernel)];
  }
  /// Bytes of shared memory that a block may have.
  [[nodiscard]] std::size_t shared_limit() const noexcept { return shared_limit_; }

 private:
  void find_functions();
  void unload() noexcept;

  CudaDevice& device_;
  CUmodule words_ = nullptr;
  CUmodule typed_ = nullptr;
  // By the length of the parameter, then by kernel.
  std::array<std::array<CUfunction, kInterpreterKernels>, kParameterLengths> functions_{};
  std::uint64_t loaded_ = 0;
  std::size_t shared_limit_ = 0;
};

/// The name of a kernel in the image.
[[nodiscard]] std::string interpreter_entry(InterpreterKernel kernel, ParameterLength length);

}  // namespace forebay::cuda
