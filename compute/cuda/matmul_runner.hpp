// Matrix products on a CUDA device.
#pragma once

#include <memory>

#include "compute/cuda/lru.hpp"
#include "compute/cuda/matmul_plan.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// Keeps a plan for each shape, at most `matmul.max_plans`, and runs it.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of a warm product beyond cuBLASLt's own: one look-up. The first one opens the library.
class MatmulRunner {
 public:
  MatmulRunner(CudaDevice& device, StreamScratch& scratch);
  /// With a library of the caller's, which need not be the real one.
  MatmulRunner(CudaDevice& device, StreamScratch& scratch,
               std::shared_ptr<const driver::CublasLtApi> api);
  ~MatmulRunner();
  MatmulRunner(const MatmulRunner&) = delete;
  MatmulRunner& operator=(const MatmulRunner&) = delete;

  /// Throws DriverError, OutOfMemory.
  void run(const compute::MatmulArgs& args, const Stream& stream);

 private:
  class Aligned;
  void open();
  const MatmulPlan& plan(const MatmulShape& shape);

  CudaDevice& device_;
  StreamScratch& scratch_;
  std::shared_ptr<const driver::CublasLtApi> api_;
  cublasLtHandle_t handle_ = nullptr;
  Lru<MatmulShape, std::unique_ptr<MatmulPlan>, MatmulShapeHash> plans_;
};

}  // namespace forebay::cuda
