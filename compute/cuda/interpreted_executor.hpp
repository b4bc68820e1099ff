// Runs programs on a CUDA device at once, by kernels that interpret them.
#pragma once

#include "compute/cuda/interpreter_kernels.hpp"
#include "compute/cuda/launcher.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "forebay/compute/backend.hpp"

namespace forebay::cuda {

/// Ready for every program. Its results have the bits of CudaExecutor's.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of a warm run beyond the driver's own: the bytecode lies with its program and is copied,
/// a few hundred bytes, into the kernel's parameters. Nothing is allocated.
class InterpretedExecutor final : public compute::Executor {
 public:
  /// As InterpreterKernels.
  InterpretedExecutor(CudaDevice& device, StreamScratch& scratch, const InterpreterImage& image)
      : device_(device), scratch_(scratch), kernels_(device, image), launcher_(device) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda-interpreter"; }
  /// Throws OutOfMemory, DriverError.
  compute::Readiness run(const compute::Program& program, const compute::Binding& binding,
                         const Stream& stream) override;

 private:
  const Bytecode& bytecode_of(const compute::Program& program);

  CudaDevice& device_;
  StreamScratch& scratch_;
  InterpreterKernels kernels_;
  Launcher launcher_;
};

}  // namespace forebay::cuda
