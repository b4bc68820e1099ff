#include "tests/compute/cuda/fake_cublaslt.hpp"

#include <cstring>

namespace forebay::test {
namespace {

FakeCublasLt* fake = nullptr;

struct Operation {
  std::map<int, cublasOperation_t> transposes;
};

template <typename Opaque>
cublasStatus_t made(Opaque** target, void* object) {
  *target = static_cast<Opaque*>(object);
  ++fake->alive;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Object>
cublasStatus_t destroyed(const void* object) {
  delete static_cast<const Object*>(object);
  --fake->alive;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Object>
const Object& as(const void* object) {
  return *static_cast<const Object*>(object);
}

}  // namespace

FakeCublasLt::FakeCublasLt() : api_(std::make_shared<driver::CublasLtApi>()) {
  fake = this;
  driver::CublasLtApi& t = *api_;
  t.cublasLtGetStatusName.set(+[](cublasStatus_t) -> const char* { return "CUBLAS_STATUS_FAKE"; });
  t.cublasLtGetStatusString.set(+[](cublasStatus_t) -> const char* { return "as ordered"; });
  t.cublasLtCreate.set(+[](cublasLtHandle_t* handle) { return made(handle, new int(0)); });
  t.cublasLtDestroy.set(+[](cublasLtHandle_t handle) { return destroyed<int>(handle); });
  t.cublasLtMatmulDescCreate.set(
      +[](cublasLtMatmulDesc_t* target, cublasComputeType_t type, cudaDataType_t) {
        fake->compute_type = type;
        return made(target, new Operation);
      });
  t.cublasLtMatmulDescDestroy.set(
      +[](cublasLtMatmulDesc_t target) { return destroyed<Operation>(target); });
  t.cublasLtMatmulDescSetAttribute.set(+[](cublasLtMatmulDesc_t target,
                                           cublasLtMatmulDescAttributes_t attribute,
                                           const void* value, std::size_t bytes) {
    cublasOperation_t operation{};
    if (bytes != sizeof operation) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&operation, value, bytes);
    reinterpret_cast<Operation*>(target)->transposes[attribute] = operation;
    return CUBLAS_STATUS_SUCCESS;
  });
  t.cublasLtMatrixLayoutCreate.set(+[](cublasLtMatrixLayout_t* target, cudaDataType_t type,
                                       std::uint64_t rows, std::uint64_t columns,
                                       std::int64_t stride) {
    if (type != CUDA_R_32F || stride < static_cast<std::int64_t>(rows)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    return made(target, new FakeLayout{rows, columns, stride});
  });
  t.cublasLtMatrixLayoutDestroy.set(
      +[](cublasLtMatrixLayout_t target) { return destroyed<FakeLayout>(target); });
  t.cublasLtMatmulPreferenceCreate.set(
      +[](cublasLtMatmulPreference_t* target) { return made(target, new int(0)); });
  t.cublasLtMatmulPreferenceDestroy.set(
      +[](cublasLtMatmulPreference_t target) { return destroyed<int>(target); });
  t.cublasLtMatmulPreferenceSetAttribute.set(+[](cublasLtMatmulPreference_t,
                                                 cublasLtMatmulPreferenceAttributes_t attribute,
                                                 const void* value, std::size_t bytes) {
    const auto* const first = static_cast<const unsigned char*>(value);
    fake->preferences[attribute].assign(first, first + bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
  t.cublasLtMatmulAlgoGetHeuristic.set(
      +[](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
          cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int wanted,
          cublasLtMatmulHeuristicResult_t* results, int* found) {
        ++fake->heuristics;
        *found = 0;
        for (const FakeAlgorithm& algorithm : fake->algorithms) {
          if (*found == wanted) break;
          cublasLtMatmulHeuristicResult_t& result = results[*found];
          result = {};
          result.algo.data[0] = static_cast<std::uint64_t>(*found);
          result.algo.data[1] = algorithm.scheme;
          result.workspaceSize = algorithm.workspace;
          result.state = CUBLAS_STATUS_SUCCESS;
          ++*found;
        }
        return CUBLAS_STATUS_SUCCESS;
      });
  t.cublasLtMatmulAlgoConfigGetAttribute.set(
      +[](const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
          void* value, std::size_t bytes, std::size_t* written) {
        if (attribute != CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME || bytes != 4) {
          return CUBLAS_STATUS_INVALID_VALUE;
        }
        const auto scheme = static_cast<std::uint32_t>(algorithm->data[1]);
        std::memcpy(value, &scheme, 4);
        *written = 4;
        return CUBLAS_STATUS_SUCCESS;
      });
  t.cublasLtMatmul.set(+[](cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void*,
                           const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                           cublasLtMatrixLayout_t b_layout, const void*, const void*,
                           cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                           const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                           std::size_t workspace_bytes, cudaStream_t) {
    auto transposes = as<Operation>(operation).transposes;
    fake->products.push_back(
        {as<FakeLayout>(a_layout), as<FakeLayout>(b_layout), as<FakeLayout>(d_layout),
         transposes[CUBLASLT_MATMUL_DESC_TRANSA] == CUBLAS_OP_T,
         transposes[CUBLASLT_MATMUL_DESC_TRANSB] == CUBLAS_OP_T, static_cast<const float*>(a),
         static_cast<const float*>(b), static_cast<float*>(d), workspace, workspace_bytes,
         static_cast<int>(algorithm->data[0])});
    return fake->product_status;
  });
}

FakeCublasLt::~FakeCublasLt() { fake = nullptr; }

}  // namespace forebay::test
