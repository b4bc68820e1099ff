// Runs programs on a CUDA device by kernels that NVRTC compiled for them.
#pragma once

#include <cuda.h>

#include <unordered_map>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "forebay/compute/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// One kernel a program; always ready, since the first run of a program waits for its compilation.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of a warm run beyond the driver's own: one look-up by address, a comparison of the programs
/// (an address may have been given to another one) and about a hundred bytes of parameters.
class CudaExecutor final : public compute::Executor {
 public:
  /// Programs remembered by address; all are forgotten when there are more, which costs a hash of
  /// the source each.
  static constexpr std::size_t kMaxKernels = 4096;

  CudaExecutor(CudaDevice& device, StreamScratch& scratch) : device_(device), scratch_(scratch) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  /// Throws CompileError, OutOfMemory, DriverError.
  compute::Readiness run(const compute::Program& program, const compute::Binding& binding,
                         const Stream& stream) override;

 private:
  struct Kernel {
    compute::Program program;
    KernelShape shape;
    CUfunction function = nullptr;
  };
  const Kernel& kernel_for(const compute::Program& program);

  CudaDevice& device_;
  StreamScratch& scratch_;
  std::unordered_map<const compute::Program*, Kernel> kernels_;
};

}  // namespace forebay::cuda
