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
  cuda::LaunchChoices choices;
  choices.plan = cuda::plan_reduction(binding.extents, program.reduced_dims);
  cuda::InterpreterArguments made(program, bytecode, binding, choices);
  Arguments a;
  std::memcpy(&a, made.data(), sizeof a);

  const auto pointer = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  CHECK(a.head.count == 210);
  CHECK(a.head.leaves == 2);
  CHECK(a.head.strided == 0b01);
  CHECK(a.body[0] == pointer(leaf));
  CHECK(a.body[1] == pointer(leaf + 2));
  CHECK(a.body[a.head.singles_at] == pointer(leaf + 1));
  CHECK(a.body[a.head.outputs_at] == pointer(&output));
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
  words(a.head.strides_at, {-1, 0, 50});
  const auto* const small = reinterpret_cast<const std::uint32_t*>(a.body);
  CHECK(small[a.head.scalars_at] == 0x3f800000U);
  CHECK(std::equal(bytecode.code.begin(), bytecode.code.end(), small + a.head.code_at));
  CHECK(a.head.real == 1);
  CHECK(a.head.mean == 1);
  CHECK(a.head.reduced == 6);
  CHECK(a.head.narrow == 1);
  CHECK(cuda::interpreter_bytes(program, bytecode) ==
        sizeof(cuda::FbHead) + 8 * (3 + 1 + 9 + 3) + 4 * (1 + bytecode.code.size()));
}

TEST_CASE("the parameters of every program fit the large kernels") {
  for (const NamedProgram& named : sample_programs()) {
    if (!cuda::interpretable(named.program)) continue;
    INFO(named.name);
    CHECK(cuda::interpreter_bytes(named.program, Bytecode(named.program)) <= cuda::kFbLargeBytes);
  }
}
