#include "compute/cuda/row_plan.hpp"

#include "tests/compute/cuda/sample_rows.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::RowBinding;

namespace {

RowBinding binding(std::int64_t rows, std::int64_t length, std::uintptr_t input = 256,
                   std::uintptr_t output = 512) {
  return {.rows = rows,
          .length = length,
          .inputs = {reinterpret_cast<const void*>(input)},
          .scalars = {},
          .output = reinterpret_cast<void*>(output)};
}

}  // namespace

TEST_CASE("rows are planned by the tree of their reductions, and not where that is cut up") {
  const compute::RowProgram& softmax = compute::softmax_rows(DType::f32);
  for (const std::int64_t length : {2, 7, 100, 2048, 2049, 4096}) {
    for (const std::int64_t rows : {1, 3, 1000, 65'536}) {
      const auto launch = cuda::plan_rows(softmax, binding(rows, length));
      REQUIRE(launch);
      CHECK(launch->steps == (length <= 2048 ? 1 : 2));
      CHECK(launch->vector == (length % 4 == 0));
      // Short rows go by two a thread.
      const std::int64_t each =
          (launch->threads >> launch->plan.group_log2) * (launch->steps == 1 ? 2 : 1);
      CHECK(launch->blocks * each >= rows);
      CHECK(launch->blocks * each - rows < each);
    }
  }
  // Few long rows are for many blocks each.
  CHECK_FALSE(cuda::plan_rows(softmax, binding(16, 50'000)));
  CHECK(cuda::plan_rows(softmax, binding(10'000, 8192))->steps == 4);
  CHECK(cuda::plan_rows(softmax, binding(10'000, 10'000))->steps == 8);
  CHECK_FALSE(cuda::plan_rows(softmax, binding(10'000, 16'385)));
  CHECK_FALSE(cuda::plan_rows(softmax, binding(std::int64_t{1} << 42, 64)));
}

TEST_CASE("rows are read by runs where every address allows") {
  const compute::RowProgram& softmax = compute::softmax_rows(DType::f32);
  CHECK(cuda::plan_rows(softmax, binding(8, 64))->vector);
  CHECK_FALSE(cuda::plan_rows(softmax, binding(8, 64, 260))->vector);
  CHECK_FALSE(cuda::plan_rows(softmax, binding(8, 64, 256, 516))->vector);
  // A run is four elements of f32, whatever comes in and goes out.
  CHECK(cuda::plan_rows(compute::softmax_rows(DType::f16), binding(8, 64, 264, 520))->vector);
  CHECK_FALSE(cuda::plan_rows(compute::softmax_rows(DType::f16), binding(8, 64, 260))->vector);
  RowBinding with_weight = binding(8, 64);
  with_weight.inputs.push_back(reinterpret_cast<const void*>(260));
  with_weight.scalars = {0};
  CHECK_FALSE(
      cuda::plan_rows(compute::layer_norm_rows(DType::f32, DType::f32, std::nullopt), with_weight)
          ->vector);
}

TEST_CASE("a row program with more parameters than there is room for goes by its stages") {
  const compute::RowProgram& softmax = compute::softmax_rows(DType::f32);
  RowBinding wide = binding(8, 64);
  wide.scalars.resize(26);
  CHECK(cuda::plan_rows(softmax, wide));
  wide.scalars.resize(27);
  CHECK_FALSE(cuda::plan_rows(softmax, wide));
}
