#include "compute/cuda/interpreter_plan.hpp"

#include "compute/cuda/interpreter_arguments.hpp"
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

constexpr std::size_t kLimit = cuda::kLeastSharedLimit;

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
  const InterpreterPlan plan =
      cuda::plan_interpretation(program, Bytecode(program), binding, 132, limit);
  CHECK(exists(plan.kernel, plan.length));
  return plan;
}

}  // namespace

TEST_CASE(
    "a map takes the fast kernel, sixteen elements a thread, by quads where they are aligned") {
  const InterpreterPlan aligned = plan(wide(2), 1'000'000);
  CHECK(aligned.kernel == InterpreterKernel::map);
  CHECK(aligned.launch.threads == 256);
  CHECK(aligned.launch.blocks == (1'000'000 + 4095) / 4096);
  CHECK(aligned.piece == 4);
  CHECK(aligned.shared_bytes == 2 * 256 * 64);
  CHECK(plan(wide(2), 1'000'000, data + 1).piece == 1);
  CHECK(plan(wide(2), 0).launch.blocks == 0);
}

TEST_CASE("the more values live, the smaller the blocks of a map, then the large kernel") {
  const InterpreterPlan half = plan(wide(10), 1'000'000);
  CHECK(half.kernel == InterpreterKernel::map);
  CHECK(half.launch.threads == 128);
  CHECK(half.launch.blocks == (1'000'000 + 2047) / 2048);
  CHECK(half.shared_bytes == 10 * 128 * 64);
  const InterpreterPlan large = plan(wide(30), 1'000'000, data, 60'000);
  CHECK(large.kernel == InterpreterKernel::map_large);
  CHECK(large.launch.threads == 64);
  CHECK(large.launch.blocks == (1'000'000 + 1023) / 1024);
  CHECK(large.shared_bytes == std::size_t{30} * 64 * 16);
}

TEST_CASE("chunks of two steps and more are summed two steps at a time, if their values fit") {
  CHECK(plan(wide(2, true), 2048).kernel == InterpreterKernel::reduce);
  CHECK(plan(wide(2, true), 1'000'000).kernel == InterpreterKernel::reduce);
  CHECK(plan(wide(2, true), 2049).kernel == InterpreterKernel::reduce_steps);
  const InterpreterPlan steps = plan(wide(5, true), 10'000'000);
  CHECK(steps.kernel == InterpreterKernel::reduce_steps);
  CHECK(steps.shared_bytes == 5 * 256 * 64);
  CHECK(plan(wide(6, true), 10'000'000).kernel == InterpreterKernel::reduce);
}

TEST_CASE("the threads of a reduction belong to its tree; the large kernel may have fewer") {
  const InterpreterPlan fast = plan(wide(11, true), 10'000'000);
  CHECK(fast.kernel == InterpreterKernel::reduce);
  CHECK(fast.launch.threads == 256);
  CHECK(fast.launch.choices.plan.splits > 1);
  const InterpreterPlan large = plan(wide(12, true), 10'000'000);
  CHECK(large.kernel == InterpreterKernel::reduce_large);
  CHECK(large.launch.threads == 256);
  CHECK(large.launch.blocks == fast.launch.blocks);
  const InterpreterPlan fewer = plan(wide(30, true), 10'000'000, data, 70'000);
  CHECK(fewer.kernel == InterpreterKernel::reduce_large);
  CHECK(fewer.launch.threads == 128);
  CHECK(fewer.launch.choices.plan.threads() == 256);
}

TEST_CASE("a type, an operation or a reduction beyond the light ones takes a typed kernel") {
  Program program = wide(2);
  program.code[0].op = Op::atan2;
  CHECK(plan(program, 1000).kernel == InterpreterKernel::map_typed);
  program = wide(1, true);
  program.reduction->op = compute::ReduceOp::argmax;
  CHECK(plan(program, 1000).kernel == InterpreterKernel::reduce_typed);
  program = wide(1);
  program.leaves[0].type = DType::u8;
  CHECK(plan(program, 1000).kernel == InterpreterKernel::map_typed);
}

TEST_CASE(
    "a piece of a map has the 16 bytes of its widest type, or less where that is not aligned") {
  const auto piece = [](DType type, DType other, std::size_t at = 0) {
    Program program = wide(2);
    program.leaves[0].type = type;
    program.leaves[1].type = other;
    program.code = {{Op::to_boolean, DType::boolean, 0, 0, 0}};
    program.outputs = {{2}};
    return plan(program, 1'000'000, reinterpret_cast<const std::byte*>(data) + at).piece;
  };
  CHECK(piece(DType::u8, DType::boolean) == 16);
  CHECK(piece(DType::u8, DType::boolean, 8) == 8);
  CHECK(piece(DType::u8, DType::boolean, 4) == 4);
  CHECK(piece(DType::u8, DType::boolean, 2) == 1);
  CHECK(piece(DType::u8, DType::f16) == 8);
  CHECK(piece(DType::bf16, DType::f16, 8) == 4);
  CHECK(piece(DType::u8, DType::f32) == 4);
  CHECK(piece(DType::f32, DType::i64) == 2);
  CHECK(piece(DType::f32, DType::i64, 8) == 1);
}

TEST_CASE("pieces end with rows: sixteen bytes, four elements, or one") {
  const auto piece = [](DType type, Dims extents, std::uint8_t reduced) {
    Program program;
    program.leaves = {{type, Access::strided}};
    program.rank = static_cast<std::uint8_t>(extents.size());
    if (reduced != 0) {
      program.reduction = compute::Reduction{compute::ReduceOp::sum, 0};
      program.reduced_dims = reduced;
    } else {
      program.outputs = {{0}};
    }
    compute::Binding binding;
    binding.extents = extents;
    binding.leaves = {data};
    binding.strides = {extents};
    binding.outputs = {data};
    return cuda::plan_interpretation(program, Bytecode(program), binding, 132, kLimit).piece;
  };
  CHECK(piece(DType::f32, Dims{10, 8}, 0) == 4);
  CHECK(piece(DType::f32, Dims{8, 10}, 0) == 1);
  CHECK(piece(DType::f32, Dims{9}, 0) == 4);
  CHECK(piece(DType::u8, Dims{9, 32}, 0) == 4);  // lies apart, so no more than four go together
  CHECK(piece(DType::f64, Dims{9, 6}, 0) == 2);
  CHECK(piece(DType::f32, Dims{9, 7}, 0b01) == 4);
  CHECK(piece(DType::f64, Dims{9, 7}, 0b01) == 2);
  CHECK(piece(DType::f64, Dims{8, 6}, 0b11) == 2);
  CHECK(piece(DType::f32, Dims{8, 6}, 0b11) == 1);
  CHECK(piece(DType::u8, Dims{8, 5, 4}, 0b101) == 4);
}

TEST_CASE("whatever the limits let through has a plan on the smallest device, in every type") {
  // As many values alive at once as there can be: each of the first operations makes one, and the
  // others join three into one.
  const auto crowded = [](DType type, bool reduced) {
    Program program;
    const std::size_t leaves = cuda::kLimits.max_leaves;
    program.leaves.assign(leaves, {type, Access::strided});
    program.rank = kMaxRank;
    program.scalars.assign(cuda::kLimits.max_scalars, type);
    const auto first = static_cast<compute::Value>(leaves + program.scalars.size());
    const std::size_t made = cuda::kLimits.max_ops * 2 / 3;
    for (std::size_t k = 0; k < made; ++k) {
      program.code.push_back({Op::max, type, static_cast<compute::Value>(k % leaves),
                              static_cast<compute::Value>(leaves + k % program.scalars.size()), 0});
    }
    auto next = first;
    while (program.code.size() < cuda::kLimits.max_ops) {
      program.code.push_back({type == DType::boolean ? Op::select : Op::clamp, type, next,
                              static_cast<compute::Value>(next + 1),
                              static_cast<compute::Value>(next + 2)});
      next = static_cast<compute::Value>(next + 2);
    }
    const auto last = static_cast<compute::Value>(first + program.code.size() - 1);
    for (std::size_t k = 0; k < cuda::kLimits.max_outputs; ++k) {
      program.outputs.push_back({static_cast<compute::Value>(first + k)});
    }
    if (reduced) {
      program.reduction = compute::Reduction{compute::ReduceOp::argmax, last};
      program.reduced_dims = 0b01010101;
    }
    return program;
  };
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                           DType::u8, DType::boolean}) {
    for (const bool reduced : {false, true}) {
      for (const Program& program : {crowded(type, reduced), widest_program(reduced, type)}) {
        INFO(program.key());
        compute::Binding binding;
        binding.extents = Dims{2, 3, 2, 3, 2, 3, 2, 3};
        binding.leaves.assign(program.leaves.size(), data);
        binding.strides.assign(program.leaves.size(), binding.extents);
        binding.scalars.assign(program.scalars.size(), 0);
        binding.outputs.assign(program.outputs.size(), data);
        const InterpreterPlan planned =
            cuda::plan_interpretation(program, Bytecode(program), binding, 132, kLimit);
        CHECK(planned.kernel ==
              (reduced ? InterpreterKernel::reduce_large : InterpreterKernel::map_large));
        CHECK(planned.shared_bytes + cuda::kInterpreterStaticBytes <= kLimit);
      }
    }
  }
  // Every value has a slot, and one more for each of three purposes, all of them double: no program
  // can need more.
  constexpr std::size_t kMostSlots = 2 * (cuda::kLimits.max_leaves + cuda::kLimits.max_ops + 3);
  static_assert(kMostSlots <= cuda::kFbScalar);
  static_assert(2 * cuda::kLimits.max_scalars <= cuda::kFbScalar);
  static_assert(kMostSlots * cuda::kFbLargeElements * 4 * 8 + cuda::kInterpreterStaticBytes <=
                kLimit);
}

TEST_CASE("a program beyond the limits is refused with its size") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}};
  program.scalars.assign(1000, DType::f32);
  for (compute::Value k = 0; k < 4000; ++k) {
    program.code.push_back({Op::add, DType::f32, static_cast<compute::Value>(k == 0 ? 0 : 1000 + k),
                            static_cast<compute::Value>(1 + k % 1000), 0});
  }
  program.outputs = {{5000}};
  CHECK_THROWS_WITH(plan(program, 1000), Catch::Contains("too large for the interpreter"));
}

TEST_CASE("short light programs have kernels whose parameter is short") {
  using cuda::ParameterLength;
  for (const bool reduced : {false, true}) {
    CHECK(plan(wide(2, reduced), 1'000'000).length == ParameterLength::brief);
    CHECK(plan(wide(15, reduced), 1'000'000).length == ParameterLength::full);
  }
  // Whatever is called brief fits.
  for (std::size_t leaves = 2; leaves < 16; ++leaves) {
    const Program program = wide(leaves);
    const std::size_t bytes = cuda::interpreter_bytes(program, Bytecode(program));
    const bool brief = plan(program, 1'000'000).length == ParameterLength::brief;
    CHECK(brief == (bytes <= cuda::kFbBriefBytes));
  }
  Program typed = wide(2);
  for (compute::Leaf& leaf : typed.leaves) leaf.type = DType::f64;
  typed.code[0].type = DType::f64;
  const InterpreterPlan other = plan(typed, 1'000'000);
  CHECK(other.kernel == InterpreterKernel::map_typed);
  CHECK(other.length == ParameterLength::full);
  CHECK(cuda::parameter_bytes(other.kernel, other.length) == cuda::kFbSmallBytes);
  CHECK(cuda::parameter_bytes(InterpreterKernel::map_large, other.length) == cuda::kFbLargeBytes);
}
