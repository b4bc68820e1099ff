// Touching blocks of a CUDA device.
#pragma once

#include <cuda.h>

#include "runtime/cuda/cuda_device.hpp"
#include "tools/forebay/touch.hpp"

namespace forebay::tools {

/// Two small kernels write and compare stamps; what they find wrong lies in pinned memory and is
/// read at the end, so nothing waits before.
class CudaTouch final : public Touch {
 public:
  /// Compiles the kernels. REQUIRES: a CUDA device. Throws CompileError, DriverError.
  CudaTouch(Device& device, std::vector<Stream> streams);
  ~CudaTouch() override;

  void stamp(void* block, std::uint64_t bytes, std::uint32_t number, std::uint32_t stream) override;
  void check(void* block, std::uint64_t bytes, std::uint32_t number, std::uint32_t stream,
             std::uint32_t writer) override;
  [[nodiscard]] std::optional<std::uint32_t> finish() override;

 private:
  [[nodiscard]] CUstream native(std::uint32_t stream) const {
    return static_cast<CUstream>(streams_[stream].native());
  }
  void launch(CUfunction kernel, CUstream stream, std::uint64_t bytes, void** arguments);

  cuda::CudaDevice& device_;
  const driver::CudaApi& api_;
  const std::vector<Stream> streams_;
  CUfunction stamp_ = nullptr, check_ = nullptr;
  CUevent event_ = nullptr;                 // recorded again for every order between two streams
  volatile std::uint32_t* lost_ = nullptr;  // pinned; a number + 1, 0 for none
};

}  // namespace forebay::tools
