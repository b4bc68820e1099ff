// A cuBLASLt that records what it is asked and computes nothing.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/driver/cublaslt_api.hpp"

namespace forebay::test {

struct FakeLayout {
  std::uint64_t rows, columns;  // column-major
  std::int64_t stride;
};

struct FakeProduct {
  FakeLayout first, second, result;
  bool first_transposed, second_transposed;
  const float *first_data, *second_data;
  float* result_data;
  void* workspace;
  std::size_t workspace_bytes;
  int algorithm;
};

/// One algorithm that the heuristic offers.
struct FakeAlgorithm {
  std::uint32_t scheme;  ///< of adding parts of K
  std::size_t workspace;
};

/// While it lives, its table records. One at a time. Thread safety: none.
class FakeCublasLt {
 public:
  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;
  FakeCublasLt& operator=(const FakeCublasLt&) = delete;

  [[nodiscard]] std::shared_ptr<const driver::CublasLtApi> api() const { return api_; }

  std::vector<FakeAlgorithm> algorithms = {{CUBLASLT_REDUCTION_SCHEME_NONE, 0}};
  cublasStatus_t product_status = CUBLAS_STATUS_SUCCESS;
  std::vector<FakeProduct> products;
  std::map<int, std::vector<unsigned char>> preferences;  ///< the last ones, by attribute
  cublasComputeType_t compute_type{};
  int heuristics = 0;  ///< how often an algorithm was searched
  int alive = 0;       ///< handles, descriptors, layouts and preferences not destroyed

 private:
  std::shared_ptr<driver::CublasLtApi> api_;
};

}  // namespace forebay::test
