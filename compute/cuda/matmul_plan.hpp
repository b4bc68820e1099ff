// How cuBLASLt computes the matrix products of one shape.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "forebay/compute/backend.hpp"
#include "runtime/driver/cublaslt_api.hpp"

namespace forebay::cuda {

/// Everything that a plan depends on; addresses are not part of it.
struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_stride = 0, b_stride = 0;
  bool a_transposed = false, b_transposed = false;
  bool operator==(const MatmulShape&) const = default;
};
[[nodiscard]] MatmulShape shape_of(const compute::MatmulArgs& args) noexcept;
struct MatmulShapeHash {
  [[nodiscard]] std::size_t operator()(const MatmulShape& shape) const noexcept;
};

/// Bytes to which the operands of every plan are aligned. One class for all, so that the algorithm,
/// and with it the result, does not depend on addresses.
inline constexpr std::size_t kMatmulAlignment = 16;

/// Descriptors and the algorithm for one shape, made once; a product with it allocates nothing.
///
/// The product is c = a · b in f32, row-major. cuBLASLt is column-major and sees each matrix as its
/// transpose, so it computes cᵀ = bᵀ · aᵀ with b as its first operand. f32 means f32: no TF32, and
/// an algorithm never adds parts of K in the order in which they happen to be ready.
class MatmulPlan {
 public:
  /// Throws DriverError, also when cuBLASLt has no algorithm.
  MatmulPlan(std::shared_ptr<const driver::CublasLtApi> api, cublasLtHandle_t handle,
             const MatmulShape& shape, std::size_t workspace_limit);
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;
  ~MatmulPlan();

  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// Enqueues c = a · b. REQUIRES: addresses aligned to kMatmulAlignment; `workspace` of the
  /// limit's size, or null if workspace_bytes() is 0.
  void run(cublasLtHandle_t handle, const float* a, const float* b, float* c, void* workspace,
           void* stream) const;

 private:
  void describe(const MatmulShape& shape);
  void choose(cublasLtHandle_t handle, const MatmulShape& shape);
  void release() noexcept;

  std::shared_ptr<const driver::CublasLtApi> api_;
  std::size_t workspace_limit_;
  std::size_t workspace_bytes_ = 0;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace forebay::cuda
