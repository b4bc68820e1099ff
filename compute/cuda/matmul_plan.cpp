#include "compute/cuda/matmul_plan.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace forebay::cuda {

using driver::check;
using driver::CublasLtApi;

MatmulShape shape_of(const compute::MatmulArgs& args) noexcept {
  // The stride of a single row says nothing, and cuBLASLt wants it to be at least a row.
  const std::int64_t a_row = args.a_transposed ? args.m : args.k;
  const std::int64_t b_row = args.b_transposed ? args.k : args.n;
  return {args.m,
          args.n,
          args.k,
          std::max(args.a_stride, a_row),
          std::max(args.b_stride, b_row),
          args.a_transposed,
          args.b_transposed};
}

std::size_t MatmulShapeHash::operator()(const MatmulShape& shape) const noexcept {
  std::uint64_t hash = (shape.a_transposed ? 2U : 0U) + (shape.b_transposed ? 1U : 0U);
  for (const std::int64_t value : {shape.m, shape.n, shape.k, shape.a_stride, shape.b_stride}) {
    // Steele, Lea and Flood, SplitMix64.
    hash = (hash ^ static_cast<std::uint64_t>(value)) + 0x9E3779B97F4A7C15U;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
    hash ^= hash >> 31;
  }
  return hash;
}

MatmulPlan::MatmulPlan(std::shared_ptr<const CublasLtApi> api, cublasLtHandle_t handle,
                       const MatmulShape& shape, std::size_t workspace_limit)
    : api_(std::move(api)), workspace_limit_(workspace_limit) {
  try {
    describe(shape);
    choose(handle, shape);
  } catch (...) {
    release();
    throw;
  }
}

MatmulPlan::~MatmulPlan() { release(); }

void MatmulPlan::describe(const MatmulShape& shape) {
  const CublasLtApi& api = *api_;
  check(api, api.cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  const auto transpose = [&](cublasLtMatmulDescAttributes_t attribute, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(api,
          api.cublasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof operation),
          "cublasLtMatmulDescSetAttribute");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, shape.b_transposed);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, shape.a_transposed);
  // A row-major matrix of r rows is a column-major one of r columns.
  const auto layout = [&](cublasLtMatrixLayout_t* target, std::int64_t rows,
                          std::int64_t row_length, std::int64_t stride) {
    check(api,
          api.cublasLtMatrixLayoutCreate(target, CUDA_R_32F, static_cast<std::uint64_t>(row_length),
                                         static_cast<std::uint64_t>(rows), stride),
          "cublasLtMatrixLayoutCreate");
  };
  layout(&first_, shape.b_transposed ? shape.n : shape.k, shape.b_transposed ? shape.k : shape.n,
         shape.b_stride);
  layout(&second_, shape.a_transposed ? shape.k : shape.m, shape.a_transposed ? shape.m : shape.k,
         shape.a_stride);
  layout(&result_, shape.m, shape.n, shape.n);
}

void MatmulPlan::choose(cublasLtHandle_t handle, const MatmulShape& shape) {
  const CublasLtApi& api = *api_;
  cublasLtMatmulPreference_t made = nullptr;
  check(api, api.cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  const auto destroy = [&api](cublasLtMatmulPreference_t p) {
    api.cublasLtMatmulPreferenceDestroy(p);
  };
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, decltype(destroy)>
      preference(made, destroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(
        api,
        api.cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_limit_});
  // Parts of K may be added from a workspace by a kernel of its own, in a fixed order; not in
  // place, where the order is that of arrival.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(attribute, std::uint32_t{kMatmulAlignment});
  }

  std::array<cublasLtMatmulHeuristicResult_t, 8> candidates{};
  int found = 0;
  check(api,
        api.cublasLtMatmulAlgoGetHeuristic(handle, operation_, first_, second_, result_, result_,
                                           preference.get(), static_cast<int>(candidates.size()),
                                           candidates.data(), &found),
        "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& candidate = candidates[static_cast<std::size_t>(i)];
    if (candidate.state != CUBLAS_STATUS_SUCCESS || candidate.workspaceSize > workspace_limit_)
      continue;
    std::uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
    std::size_t written = 0;
    check(api,
          api.cublasLtMatmulAlgoConfigGetAttribute(&candidate.algo,
                                                   CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                                   sizeof scheme, &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
    if ((scheme & CUBLASLT_REDUCTION_SCHEME_INPLACE) != 0) continue;
    algorithm_ = candidate.algo;
    workspace_bytes_ = candidate.workspaceSize;
    return;
  }
  throw DriverError("cuBLASLt has no reproducible algorithm for the product of [" +
                        std::to_string(shape.m) + ", " + std::to_string(shape.k) + "] and [" +
                        std::to_string(shape.k) + ", " + std::to_string(shape.n) + "]",
                    CUBLAS_STATUS_NOT_SUPPORTED);
}

void MatmulPlan::run(cublasLtHandle_t handle, const float* a, const float* b, float* c,
                     void* workspace, void* stream) const {
  const float one = 1.0F;
  const float zero = 0.0F;
  const cublasStatus_t status = api_->cublasLtMatmul(
      handle, operation_, &one, b, first_, a, second_, &zero, c, result_, c, result_, &algorithm_,
      workspace, workspace == nullptr ? 0 : workspace_limit_, static_cast<cudaStream_t>(stream));
  check(*api_, status, "cublasLtMatmul");
}

void MatmulPlan::release() noexcept {
  for (cublasLtMatrixLayout_t* const layout : {&first_, &second_, &result_}) {
    if (*layout != nullptr) api_->cublasLtMatrixLayoutDestroy(*layout);
    *layout = nullptr;
  }
  if (operation_ != nullptr) api_->cublasLtMatmulDescDestroy(operation_);
  operation_ = nullptr;
}

}  // namespace forebay::cuda
