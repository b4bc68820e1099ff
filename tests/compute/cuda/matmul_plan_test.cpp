#include "compute/cuda/matmul_plan.hpp"

#include <cstring>
#include <numeric>

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cublaslt.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using cuda::MatmulPlan;
using cuda::MatmulShape;

namespace {

/// What cuBLASLt would compute for a recorded call: element (row, column) of the column-major
/// result.
double element(const FakeProduct& product, std::uint64_t row, std::uint64_t column) {
  const auto at = [](const float* data, const FakeLayout& layout, bool transposed, std::uint64_t r,
                     std::uint64_t c) {
    if (transposed) std::swap(r, c);
    REQUIRE(r < layout.rows);
    REQUIRE(c < layout.columns);
    return static_cast<double>(data[r + c * static_cast<std::uint64_t>(layout.stride)]);
  };
  const std::uint64_t depth = product.first_transposed ? product.first.rows : product.first.columns;
  double sum = 0;
  for (std::uint64_t k = 0; k < depth; ++k) {
    sum += at(product.first_data, product.first, product.first_transposed, row, k) *
           at(product.second_data, product.second, product.second_transposed, k, column);
  }
  return sum;
}

template <typename T>
T preference(const FakeCublasLt& fake, cublasLtMatmulPreferenceAttributes_t attribute) {
  const auto& bytes = fake.preferences.at(attribute);
  REQUIRE(bytes.size() == sizeof(T));
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a row-major product is asked for as the column-major one that it is") {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      constexpr std::int64_t m = 3, n = 5, k = 4, padding = 2;
      const std::int64_t a_stride = (a_transposed ? m : k) + padding;
      const std::int64_t b_stride = (b_transposed ? k : n) + padding;
      std::vector<float> a(100), b(100), c(m * n);
      std::iota(a.begin(), a.end(), 1.0F);
      std::iota(b.begin(), b.end(), 200.0F);
      FakeCublasLt fake;
      {
        const MatmulPlan plan(fake.api(), nullptr,
                              {m, n, k, a_stride, b_stride, a_transposed, b_transposed}, 1 << 20);
        plan.run(nullptr, a.data(), b.data(), c.data(), nullptr, nullptr);
      }
      REQUIRE(fake.products.size() == 1);
      CHECK(fake.alive == 0);
      const FakeProduct& product = fake.products.front();
      CHECK(product.result_data == c.data());
      CHECK(product.result.rows == n);
      CHECK(product.result.columns == m);
      CHECK(product.result.stride == n);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double want = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            const float x =
                a[static_cast<std::size_t>(a_transposed ? l * a_stride + i : i * a_stride + l)];
            const float y =
                b[static_cast<std::size_t>(b_transposed ? j * b_stride + l : l * b_stride + j)];
            want += static_cast<double>(x) * static_cast<double>(y);
          }
          CHECK(element(product, static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(i)) ==
                want);
        }
      }
    }
  }
}

TEST_CASE("f32 is f32, alignment is fixed, the workspace is bounded and K is not split in place") {
  FakeCublasLt fake;
  fake.algorithms = {{CUBLASLT_REDUCTION_SCHEME_INPLACE, 0},
                     {CUBLASLT_REDUCTION_SCHEME_NONE, 4097},
                     {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 512},
                     {CUBLASLT_REDUCTION_SCHEME_NONE, 0}};
  const MatmulPlan plan(fake.api(), nullptr, {8, 8, 8, 8, 8}, 4096);
  CHECK(fake.compute_type == CUBLAS_COMPUTE_32F);
  CHECK(preference<std::uint64_t>(fake, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) == 4096);
  CHECK((preference<std::uint32_t>(fake, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) &
         CUBLASLT_REDUCTION_SCHEME_INPLACE) == 0);
  CHECK(preference<std::uint32_t>(fake, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) == 16);
  CHECK(preference<std::uint32_t>(fake, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) == 16);
  CHECK(plan.workspace_bytes() == 512);
  int workspace = 0;
  plan.run(nullptr, nullptr, nullptr, nullptr, &workspace, nullptr);
  CHECK(fake.products.front().algorithm == 2);
  CHECK(fake.products.front().workspace_bytes == 4096);
}

TEST_CASE("no algorithm and a failed product are errors that name what was wanted") {
  FakeCublasLt fake;
  fake.algorithms = {{CUBLASLT_REDUCTION_SCHEME_INPLACE, 0}};
  CHECK_THROWS_WITH(MatmulPlan(fake.api(), nullptr, {8, 9, 7, 7, 9}, 4096),
                    "cuBLASLt has no reproducible algorithm for the product of [8, 7] and [7, 9]");
  CHECK(fake.alive == 0);
  fake.algorithms = {{CUBLASLT_REDUCTION_SCHEME_NONE, 0}};
  fake.product_status = CUBLAS_STATUS_EXECUTION_FAILED;
  const MatmulPlan plan(fake.api(), nullptr, {8, 8, 8, 8, 8}, 4096);
  CHECK_THROWS_AS(plan.run(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), DriverError);
}

TEST_CASE("shapes: the stride of a single row is at least a row, addresses do not matter") {
  compute::MatmulArgs args{.m = 1, .n = 4, .k = 6, .a_stride = 1, .b_stride = 4};
  const MatmulShape shape = cuda::shape_of(args);
  CHECK(shape.a_stride == 6);
  const float x = 0;
  args.a = &x;
  CHECK(cuda::shape_of(args) == shape);
  CHECK(cuda::MatmulShapeHash()(shape) == cuda::MatmulShapeHash()(cuda::shape_of(args)));
  args.b_transposed = true;
  CHECK_FALSE(cuda::shape_of(args) == shape);
  CHECK(cuda::MatmulShapeHash()(cuda::shape_of(args)) != cuda::MatmulShapeHash()(shape));
}
