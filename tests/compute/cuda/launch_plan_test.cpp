#include "compute/cuda/launch_plan.hpp"

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

compute::Program copy_program() {
  compute::Program program;
  program.leaves = {{DType::f32, compute::Access::linear}};
  program.outputs = {{0}};
  return program;
}

cuda::LaunchPlan plan(const compute::Program& program, const Dims& extents, std::uintptr_t leaf,
                      std::uintptr_t output) {
  compute::Binding binding;
  binding.extents = extents;
  binding.leaves = {reinterpret_cast<const void*>(leaf)};
  if (!program.outputs.empty()) binding.outputs = {reinterpret_cast<void*>(output)};
  return cuda::plan_launch(program, cuda::kernel_shape(program), binding, 132);
}

}  // namespace

TEST_CASE("a map covers every element, beyond 2^31 too") {
  const compute::Program program = copy_program();
  const unsigned each = cuda::kernel_shape(program).per_thread();
  for (const std::int64_t count :
       {std::int64_t{1}, std::int64_t{63}, std::int64_t{4096}, std::int64_t{903'168},
        (std::int64_t{1} << 31) - 1, (std::int64_t{1} << 31) + 1, std::int64_t{1} << 38}) {
    const cuda::LaunchPlan launch = plan(program, {count}, 256, 256);
    const std::int64_t covered = std::int64_t{launch.blocks} * launch.threads * each;
    CHECK(covered >= count);
    CHECK(covered - count < std::int64_t{launch.threads} * each);
  }
}

TEST_CASE("small maps are spread over the multiprocessors") {
  CHECK(plan(copy_program(), {1 << 16}, 256, 256).blocks >= 128);
  CHECK(plan(copy_program(), {1 << 28}, 256, 256).threads == cuda::kMapThreads);
}

TEST_CASE("16-byte accesses need every address and every row to be aligned") {
  const compute::Program copy = copy_program();
  CHECK(plan(copy, {1000}, 256, 512).choices.vector);
  CHECK_FALSE(plan(copy, {1000}, 260, 512).choices.vector);
  CHECK_FALSE(plan(copy, {1000}, 256, 516).choices.vector);
  const compute::Program rows = test::sum_program({DType::f32, compute::Access::linear}, 2, 0b10);
  CHECK(plan(rows, {10, 100}, 256, 0).choices.vector);
  CHECK_FALSE(plan(rows, {10, 101}, 256, 0).choices.vector);
  CHECK(plan(rows, {1, 101}, 256, 0).choices.vector);
  CHECK_FALSE(plan(rows, {10, 100}, 264, 0).choices.vector);
}

TEST_CASE("a strided leaf is read by runs where a row holds whole ones") {
  compute::Program program = copy_program();
  program.leaves[0].access = compute::Access::strided;
  program.rank = 2;
  const auto choices = [&](const Dims& extents, const Dims& strides, std::uintptr_t leaf = 256) {
    compute::Binding binding;
    binding.extents = extents;
    binding.strides = {strides};
    binding.leaves = {reinterpret_cast<const void*>(leaf)};
    binding.outputs = {reinterpret_cast<void*>(512)};
    return cuda::plan_launch(program, cuda::kernel_shape(program), binding, 132).choices;
  };
  CHECK(choices({10, 100}, {128, 1}).vector);
  CHECK(choices({10, 100}, {128, 1}).packed == 1);
  CHECK(choices({10, 100}, {0, 1}).packed == 1);
  CHECK_FALSE(choices({10, 101}, {128, 1}).vector);
  CHECK(choices({10, 101}, {128, 1}).packed == 0);
  for (const Dims& apart : {Dims{127, 1}, Dims{1, 10}, Dims{1, 0}, Dims{128, -1}}) {
    CHECK(choices({10, 100}, apart).vector);
    CHECK(choices({10, 100}, apart).packed == 0);
  }
  CHECK(choices({10, 100}, {128, 1}, 260).vector);
  CHECK(choices({10, 100}, {128, 1}, 260).packed == 0);
}

TEST_CASE("nothing to compute is no launch, nothing to sum is one") {
  CHECK(plan(copy_program(), {0}, 0, 0).blocks == 0);
  const compute::Program rows = test::sum_program({DType::f32, compute::Access::linear}, 2, 0b10);
  CHECK(plan(rows, {0, 5}, 0, 0).blocks == 0);
  CHECK(plan(rows, {5, 0}, 0, 0).blocks == 1);
}

TEST_CASE("more blocks than a grid has are refused by name") {
  CHECK_THROWS_AS(plan(copy_program(), {std::int64_t{1} << 43}, 256, 256), Error);
}
