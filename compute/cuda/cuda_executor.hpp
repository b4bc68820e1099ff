// Runs programs on a CUDA device by kernels that NVRTC compiled for them.
#pragma once

#include <cuda.h>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "forebay/compute/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// One kernel a program; always ready, since the first run of a program waits for its compilation.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of a warm run beyond the driver's own: the kernel lies with its program, and about a
/// hundred bytes of parameters are put together.
class CudaExecutor final : public compute::Executor {
 public:
  CudaExecutor(CudaDevice& device, StreamScratch& scratch) : device_(device), scratch_(scratch) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  /// Throws CompileError, OutOfMemory, DriverError.
  compute::Readiness run(const compute::Program& program, const compute::Binding& binding,
                         const Stream& stream) override;

 private:
  struct Kernel {
    KernelShape shape;
    CUfunction function = nullptr;
  };
  const Kernel& kernel_of(const compute::Program& program);

  CudaDevice& device_;
  StreamScratch& scratch_;
};

}  // namespace forebay::cuda
