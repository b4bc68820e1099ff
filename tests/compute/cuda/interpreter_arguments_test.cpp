#include "compute/cuda/interpreter_arguments.hpp"

#include <cstring>

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Access;
using compute::Op;
using compute::Program;
using cuda::Bytecode;

namespace {

using Arguments = cuda::FbArguments<cuda::kFbSmallBytes>;

}  // namespace

TEST_CASE("blocks of one long row know what they read first, others nothing") {
  const auto head = [](const Program& program, const Dims& extents, const void* leaf) {
    float output = 0;
    compute::Binding binding;
    binding.extents = extents;
    binding.leaves = {leaf};
    binding.strides.resize(1);
    if (program.leaves[0].access == Access::strided) binding.strides[0] = {1};
    binding.reduction = &output;
    const Bytecode bytecode(program);
    cuda::InterpreterPlan plan;
    plan.launch.choices.plan = cuda::plan_reduction(extents, program.reduced_dims);
    cuda::InterpreterArguments made(program, bytecode, binding, plan);
    Arguments a;
    std::memcpy(&a, made.data(), sizeof a);
    return a.head;
  };
  const compute::Leaf linear{DType::f32, Access::linear};
  alignas(16) const unsigned char data[16] = {};
  const cuda::FbHead row = head(sum_program(linear, 1, 0b1), {1'000'001}, data);
  CHECK(row.ahead == data);
  CHECK(row.ahead_end == data + 4'000'004);
  CHECK(row.ahead_bytes == 2048 * 4);
  CHECK(head(sum_program({DType::f64, Access::linear}, 1, 0b1), {4096}, data).ahead_bytes ==
        4096 * 8);
  CHECK(head(sum_program(linear, 2, 0b10), {3, 10'000}, data).ahead_bytes == 0);
  CHECK(head(sum_program({DType::f32, Access::strided}, 1, 0b1), {10'000}, data).ahead_bytes == 0);
  CHECK(head(sum_program({DType::f32, Access::single}, 1, 0b1), {10'000}, data).ahead_bytes == 0);
}

TEST_CASE("the parameters hold what the head says, where it says") {
  Program program;
  program.rank = 3;
  program.leaves = {
      {DType::f32, Access::strided}, {DType::f32, Access::single}, {DType::f32, Access::linear}};
  program.scalars = {DType::f32};
  program.code = {{Op::add, DType::f32, 0, 1, 0},
                  {Op::add, DType::f32, 4, 2, 0},
                  {Op::mul, DType::f32, 5, 3, 0}};
  program.outputs = {{6}};
  program.reduction = compute::Reduction{compute::ReduceOp::mean, 6};
  program.reduced_dims = 0b010;
  float leaf[3];
  float output = 0;
  compute::Binding binding;
  binding.extents = Dims{5, 6, 7};
  binding.leaves = {leaf, leaf + 1, leaf + 2};
  binding.strides = {Dims{-1, 50, 0}, {}, {}};
  binding.scalars = {0x3f800000U};
  binding.outputs = {&output};
  const Bytecode bytecode(program);
  cuda::InterpreterPlan plan;
  plan.piece = 2;
  plan.launch.choices.plan = cuda::plan_reduction(binding.extents, program.reduced_dims);
  cuda::InterpreterArguments made(program, bytecode, binding, plan);
  Arguments a;
  std::memcpy(&a, made.data(), sizeof a);

  CHECK(a.head.count == 210);
  CHECK(a.head.leaves == 2);
  const auto buffer = [&](unsigned at) {
    cuda::FbBuffer read;
    std::memcpy(&read, a.body + at, sizeof read);
    return read;
  };
  const cuda::FbBuffer first = buffer(0);
  const cuda::FbBuffer second = buffer(2);
  CHECK(first.address == leaf);
  CHECK(first.strided == 1);
  CHECK(first.packed == 0);
  CHECK(first.size_log2 == 2);
  CHECK(second.address == leaf + 2);
  CHECK(second.strided == 0);
  CHECK(second.slot == 1);
  CHECK(second.strides_at == a.head.index_strides_at);
  CHECK(buffer(a.head.singles_at).address == leaf + 1);
  CHECK(buffer(a.head.outputs_at).address == &output);
  CHECK(a.head.piece_log2 == 1);
  // Kept dimensions 0 and 2, then the reduced one.
  CHECK(a.head.rank == 3);
  CHECK(a.head.kept_dims == 2);
  const auto words = [&](unsigned at, std::vector<long long> want) {
    for (std::size_t n = 0; n < want.size(); ++n) {
      CHECK(static_cast<long long>(a.body[at + n]) == want[n]);
    }
  };
  CHECK(a.body[a.head.dims_at] == 5);
  CHECK(a.body[a.head.dims_at + 2] == 7);
  CHECK(a.body[a.head.dims_at + 4] == 6);
  const cuda::Division division = cuda::division_by(7);
  CHECK(a.body[a.head.dims_at + 3] ==
        (std::uint64_t{division.shift} << 32 | std::uint64_t{division.magic}));
  words(a.head.index_strides_at, {42, 1, 7});
  words(first.strides_at, {-1, 0, 50});
  const auto* const small = reinterpret_cast<const std::uint32_t*>(a.body);
  CHECK(small[a.head.scalars_at] == 0x3f800000U);
  CHECK(std::equal(bytecode.code.begin(), bytecode.code.end(), small + a.head.code_at));
  CHECK(a.head.real == 1);
  CHECK(a.head.mean == 1);
  CHECK(a.head.reduced == 6);
  CHECK(a.head.narrow == 1);
  CHECK(cuda::interpreter_bytes(program, bytecode) ==
        sizeof(cuda::FbHead) + 16 * (3 + 1) + 8 * (9 + 3) + 4 * (1 + bytecode.code.size()));
}

TEST_CASE("scalars are held as the kernels hold values, those of eight bytes in two words") {
  Program program;
  program.scalars = {DType::f64, DType::f16, DType::bf16, DType::u8, DType::boolean, DType::i64};
  program.outputs = {{0}};
  double output = 0;
  compute::Binding binding;
  binding.extents = Dims{1};
  binding.outputs = {&output};
  binding.scalars = {0x4000000000000001U, 0x3c00U, 0x3f80U, 200, 1, 0xffffffff00000005U};
  cuda::InterpreterArguments made(program, Bytecode(program), binding, {});
  Arguments a;
  std::memcpy(&a, made.data(), sizeof a);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(a.body) + a.head.scalars_at;
  const std::vector<std::uint32_t> want = {1,   0x40000000U, 0x3f800000U, 0x3f800000U,
                                           200, 1,           5,           0xffffffffU};
  CHECK(std::vector<std::uint32_t>(words, words + want.size()) == want);
}

TEST_CASE("a reduction's rule is in the head: how parts are joined, and what nothing gives") {
  const auto head = [](compute::ReduceOp op, DType type) {
    Program program = sum_program({type, Access::linear}, 1, 1);
    program.reduction->op = op;
    compute::Binding binding;
    binding.extents = Dims{1};
    alignas(16) static double data[2];
    binding.leaves = {data};
    binding.strides = {{}};
    binding.reduction = data;
    cuda::InterpreterArguments made(program, Bytecode(program), binding, {});
    Arguments a;
    std::memcpy(&a, made.data(), sizeof a);
    return a.head;
  };
  using compute::ReduceOp;
  CHECK(head(ReduceOp::sum, DType::bf16).join == cuda::kFbJoin_add_f32);
  CHECK(head(ReduceOp::sum, DType::bf16).result_form == cuda::kFbBf16);
  CHECK(head(ReduceOp::sum, DType::boolean).join == cuda::kFbJoin_add_i32);
  CHECK(head(ReduceOp::prod, DType::f16).identity == 0x3ff0000000000000U);
  CHECK(head(ReduceOp::prod, DType::u8).identity == 1);
  CHECK(head(ReduceOp::min, DType::u8).identity == 255);
  CHECK(head(ReduceOp::max, DType::f16).identity == 0xff800000U);
  CHECK(head(ReduceOp::argmin, DType::i64).join == cuda::kFbJoin_best_min_i64);
  CHECK(head(ReduceOp::argmin, DType::i64).identity == 0x7fffffffffffffffU);
  CHECK(head(ReduceOp::argmax, DType::boolean).result_form == cuda::kFbWide);
  CHECK(head(ReduceOp::mean, DType::f64).mean == 1);
}

TEST_CASE("the parameters of every program fit the large kernels") {
  for (const NamedProgram& named : sample_programs()) {
    INFO(named.name);
    CHECK(cuda::interpreter_bytes(named.program, Bytecode(named.program)) <= cuda::kFbLargeBytes);
  }
  // Each operation takes at most two words, three stores and a load before it, an index, a rounding
  // and a word in front of the next; the rest is as the limits say.
  constexpr compute::Limits kLimits = cuda::kLimits;
  static_assert(
      sizeof(cuda::FbHead) + (kLimits.max_leaves + kLimits.max_outputs) * sizeof(cuda::FbBuffer) +
          (3 + kLimits.max_leaves) * kMaxRank * 8 + kLimits.max_scalars * 8 +
          (kLimits.max_ops * 8 + kLimits.max_leaves * 2 + kLimits.max_outputs * 2 + 6) * 4 <=
      cuda::kFbLargeBytes);
}
