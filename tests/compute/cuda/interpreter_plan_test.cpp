#include "compute/cuda/interpreter_plan.hpp"

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Access;
using compute::Op;
using compute::Program;
using cuda::Bytecode;
using cuda::InterpreterKernel;
using cuda::InterpreterPlan;

namespace {

constexpr std::size_t kLimit = 101376;  // of the devices that have least

alignas(16) float data[64];

/// Over `leaves` linear leaves that are all alive at once.
Program wide(std::size_t leaves, bool reduced = false) {
  Program program;
  program.leaves.assign(leaves, {DType::f32, Access::linear});
  compute::Value last = 0;
  for (std::size_t k = 1; k < leaves; ++k) {
    program.code.push_back({Op::add, DType::f32, last, static_cast<compute::Value>(k), 0});
    last = static_cast<compute::Value>(leaves + k - 1);
  }
  if (reduced) {
    program.reduction = compute::Reduction{compute::ReduceOp::sum, last};
    program.reduced_dims = 1;
  } else {
    program.outputs = {{last}};
  }
  return program;
}

InterpreterPlan plan(const Program& program, std::int64_t count, const void* address = data,
                     std::size_t limit = kLimit) {
  compute::Binding binding;
  binding.extents = {count};
  binding.leaves.assign(program.leaves.size(), address);
  binding.strides.assign(program.leaves.size(), {});
  binding.scalars.assign(program.scalars.size(), 0);
  binding.outputs.assign(program.outputs.size(), data);
  binding.reduction = data;
  return cuda::plan_interpretation(program, Bytecode(program), binding, 132, limit);
}

}  // namespace

TEST_CASE(
    "a map takes the fast kernel, sixteen elements a thread, by quads where they are aligned") {
  const InterpreterPlan aligned = plan(wide(2), 1'000'000);
  CHECK(aligned.kernel == InterpreterKernel::map);
  CHECK(aligned.possible);
  CHECK(aligned.launch.threads == 256);
  CHECK(aligned.launch.blocks == (1'000'000 + 4095) / 4096);
  CHECK(aligned.launch.choices.vector);
  CHECK(aligned.shared_bytes == 2 * 256 * 64);
  CHECK_FALSE(plan(wide(2), 1'000'000, data + 1).launch.choices.vector);
  CHECK(plan(wide(2), 0).launch.blocks == 0);
}

TEST_CASE("the more values live, the smaller the blocks of a map, then the large kernel") {
  const InterpreterPlan half = plan(wide(10), 1'000'000);
  CHECK(half.kernel == InterpreterKernel::map);
  CHECK(half.launch.threads == 128);
  CHECK(half.launch.blocks == (1'000'000 + 2047) / 2048);
  CHECK(half.shared_bytes == 10 * 128 * 64);
  const InterpreterPlan large = plan(wide(30), 1'000'000, data, 50'000);
  CHECK(large.kernel == InterpreterKernel::map_large);
  CHECK(large.possible);
  CHECK(large.shared_bytes == std::size_t{30} * large.launch.threads * 4);
}

TEST_CASE("the threads of a reduction belong to its tree") {
  const InterpreterPlan fast = plan(wide(11, true), 10'000'000);
  CHECK(fast.kernel == InterpreterKernel::reduce);
  CHECK(fast.launch.threads == 256);
  CHECK(fast.launch.choices.plan.splits > 1);
  const InterpreterPlan large = plan(wide(12, true), 10'000'000);
  CHECK(large.kernel == InterpreterKernel::reduce_large);
  CHECK(large.launch.threads == 256);
  CHECK(large.possible);
  CHECK_FALSE(plan(wide(30, true), 10'000'000, data, 30'000).possible);
}

TEST_CASE("the longest programs take the large kernels") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}};
  program.scalars.assign(216, DType::f32);
  for (compute::Value k = 0; k < 216; ++k) {
    program.code.push_back({Op::add, DType::f32, static_cast<compute::Value>(k == 0 ? 0 : 216 + k),
                            static_cast<compute::Value>(1 + k), 0});
  }
  program.outputs = {{432}};
  CHECK(plan(program, 1'000'000).kernel == InterpreterKernel::map);
  for (const bool reduced : {false, true}) {
    const Program widest = widest_program(reduced, DType::f32);
    compute::Binding binding;
    binding.extents = Dims{2, 3, 2, 3, 2, 3, 2, 3};
    binding.leaves.assign(widest.leaves.size(), data);
    binding.strides.assign(widest.leaves.size(), binding.extents);
    binding.scalars.assign(widest.scalars.size(), 0);
    binding.outputs.assign(widest.outputs.size(), data);
    const InterpreterPlan widely =
        cuda::plan_interpretation(widest, Bytecode(widest), binding, 132, kLimit);
    CHECK(widely.kernel ==
          (reduced ? InterpreterKernel::reduce_large : InterpreterKernel::map_large));
    CHECK(widely.possible);
  }
}
