// The primary context of a CUDA device: retained once, shared by everything that calls the driver.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>

#include "runtime/driver/cuda_api.hpp"

namespace forebay::cuda {

/// Thread safety: any thread; `release` once nothing else is running in the context.
///
/// Invariant: `enter` answers true only while the driver may be called, so that whoever cleans up
/// late (at the end of the process, in a forked child, after the device closed) calls nothing.
class Context {
 public:
  /// Throws DriverError when the context cannot be made.
  Context(std::shared_ptr<const driver::CudaApi> api, CUdevice device);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const driver::CudaApi& api() const noexcept { return *api_; }
  [[nodiscard]] std::shared_ptr<const driver::CudaApi> shared_api() const { return api_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  [[nodiscard]] CUcontext native() const noexcept { return context_; }

  /// Makes the context current on this thread and leaves it so; false when the driver may not be
  /// called any more. The driver is asked each time, since other code may change what is current.
  [[nodiscard]] bool enter() const noexcept;

  /// Gives the context back. Twice is fine.
  void release() noexcept;

 private:
  std::shared_ptr<const driver::CudaApi> api_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  std::atomic<bool> retained_{false};
};

/// While it lives, this thread's calls cannot end a stream capture of anybody: event queries and
/// allocations would otherwise.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const driver::CudaApi& api) noexcept : api_(api) {
    api_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const driver::CudaApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace forebay::cuda
