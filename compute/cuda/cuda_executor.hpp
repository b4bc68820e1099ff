// Runs programs on a CUDA device by kernels that NVRTC compiled for them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/launcher.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "forebay/compute/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"

namespace forebay::cuda {

/// Whether the first run of a program waits for its kernel, or the executor answers `not_ready`
/// until the kernel was made in the background.
enum class KernelWait : std::uint8_t { wait, background };

/// One kernel a program, and another for each set of leaves that its data lets go by tiles. In the
/// background it is wanted from the run on that `kernels.compile_after` says, or once somebody
/// waits for all (KernelCache::settle); a program whose kernel cannot be made is never ready. Such
/// runs neither compile nor load, so they may be part of a capture.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of a warm run beyond the driver's own: the kernel lies with its program, and about a
/// hundred bytes of parameters are put together.
class CudaExecutor final : public compute::Executor {
 public:
  CudaExecutor(CudaDevice& device, StreamScratch& scratch, KernelCache& kernels, KernelWait wait)
      : device_(device), scratch_(scratch), kernels_(kernels), wait_(wait), launcher_(device) {}

  [[nodiscard]] std::string_view name() const noexcept override {
    return wait_ == KernelWait::wait ? "cuda" : "cuda-background";
  }
  /// Throws CompileError, OutOfMemory, DriverError.
  compute::Readiness run(const compute::Program& program, const compute::Binding& binding,
                         const Stream& stream) override;
  compute::Readiness run_rows(const compute::RowProgram& program,
                              const compute::RowBinding& binding, const Stream& stream) override;

 private:
  struct Kernel {
    KernelShape shape;
    CUfunction function = nullptr;
    std::shared_ptr<BackgroundKernel> background;
    std::uint32_t runs = 0;  ///< without it, as far as they count
  };
  /// `staged`: of the leaves of its tiles, 0 if it walks by none.
  struct Kernels {
    Kernel plain;
    std::map<std::uint32_t, Kernel> tiled;  // by what is staged
  };
  [[nodiscard]] Kernel& kernel_of(const compute::Program& program, std::uint32_t staged);
  /// Sets the function if it is there; asks for it if it should be. `source` gives what makes the
  /// text, maybe later and on another thread.
  template <typename Source>
  [[nodiscard]] bool ready(Kernel& kernel, Source source, const char* entry);
  /// Throws DriverError, naming what `what` says.
  template <typename What>
  void enqueue(const KernelLaunch& launch, const Stream& stream, What what);

  CudaDevice& device_;
  StreamScratch& scratch_;
  KernelCache& kernels_;
  const KernelWait wait_;
  Launcher launcher_;
  std::map<std::pair<const compute::RowProgram*, unsigned>, Kernel> rows_;  // by steps
};

}  // namespace forebay::cuda
