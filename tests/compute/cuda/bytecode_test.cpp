#include "compute/cuda/bytecode.hpp"

#include <set>
#include <string>

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Access;
using compute::Op;
using compute::Program;
using cuda::Bytecode;

namespace {

/// "load 0; add_f32_s s0; out 0; end", scalars with an s in front.
std::string text_of(const Bytecode& bytecode) {
  std::string text;
  for (const std::uint32_t word : bytecode.code) {
    const unsigned code = word >> cuda::kFbCodeShift;
    const unsigned b = word >> cuda::kFbOperandBits & cuda::kFbOperandMask;
    const std::string name = cuda::code_name(code);
    text += name;
    if (code == cuda::kFbEnd) return text;
    const bool scalar = (b & cuda::kFbScalar) != 0 || name.ends_with("_s") || name.ends_with("_rs");
    const bool none = name.ends_with("_a") || name.starts_with("exp") || name.starts_with("neg");
    if (!none) text += (scalar ? " s" : " ") + std::to_string(b & (cuda::kFbScalar - 1));
    text += "; ";
  }
  return text + "no end";
}

Program chain(std::vector<compute::Leaf> leaves, std::vector<DType> scalars) {
  Program program;
  program.leaves = std::move(leaves);
  program.scalars = std::move(scalars);
  return program;
}

constexpr compute::Leaf kLinear{DType::f32, Access::linear};

}  // namespace

TEST_CASE("a chain with scalars stays in the accumulator and takes one slot") {
  Program program = chain({kLinear}, {DType::f32, DType::f32});
  program.code = {{Op::add, DType::f32, 0, 1, 0},   // 3
                  {Op::mul, DType::f32, 3, 2, 0},   // 4
                  {Op::sub, DType::f32, 1, 4, 0},   // 5: reversed
                  {Op::mul, DType::f32, 5, 5, 0}};  // 6: with itself
  program.outputs = {{6}};
  const Bytecode bytecode(program);
  CHECK(text_of(bytecode) ==
        "load 0; add_f32_s s0; mul_f32_s s1; sub_f32_rs s0; mul_f32_a; out 0; end");
  CHECK(bytecode.slots == 1);
}

TEST_CASE("what is needed again is stored, in the slot of what is not") {
  Program program = chain({kLinear, kLinear}, {});
  program.code = {{Op::add, DType::f32, 0, 1, 0},   // 2: x + y, both leaves end
                  {Op::neg, DType::f32, 2, 0, 0},   // 3
                  {Op::sub, DType::f32, 2, 3, 0}};  // 4
  program.outputs = {{4}};
  const Bytecode bytecode(program);
  CHECK(text_of(bytecode) == "load 0; add_f32_m 1; store 1; neg_f32; sub_f32_rm 1; out 0; end");
  CHECK(bytecode.slots == 2);
}

TEST_CASE("single leaves are read first, heavy operations get a slot to work in") {
  Program program = chain({kLinear, {DType::f32, Access::single}}, {});
  program.code = {{Op::mul, DType::f32, 0, 1, 0}, {Op::exp, DType::f32, 2, 0, 0}};
  program.outputs = {{3}};
  const Bytecode bytecode(program);
  CHECK(text_of(bytecode) == "single 0; store 1; mul_f32_m 0; exp_f32; out 0; end");
  CHECK(bytecode.leaves == std::vector<std::uint16_t>{0});
  CHECK(bytecode.singles == std::vector<std::uint16_t>{1});
  CHECK(bytecode.slots == 3);
  CHECK(bytecode.scratch == 2);
}

TEST_CASE("casts to the same type are no instructions; leaves and scalars are stored at the end") {
  Program program = chain({kLinear}, {DType::f32});
  program.code = {{Op::to_f32, DType::f32, 0, 0, 0}, {Op::neg, DType::f32, 2, 0, 0}};
  program.outputs = {{2}, {3}, {1}};
  CHECK(text_of(Bytecode(program)) == "load 0; neg_f32; out 1; load 0; out 0; load s0; out 2; end");
}

TEST_CASE("live values, not operations, decide how many slots a program takes") {
  Program program = chain({kLinear}, {DType::f32});
  for (compute::Value k = 0; k < 200; ++k) {
    program.code.push_back(
        {Op::mul, DType::f32, static_cast<compute::Value>(k == 0 ? 0 : k + 1), 0, 0});
  }
  program.outputs = {{201}};
  CHECK(Bytecode(program).slots == 1);
}

TEST_CASE("comparisons give words that choices and casts take") {
  Program program = chain({kLinear, kLinear}, {DType::f32});
  program.code = {{Op::greater, DType::boolean, 0, 2, 0},  // 3
                  {Op::select, DType::f32, 3, 1, 2},       // 4
                  {Op::to_f32, DType::f32, 3, 0, 0},       // 5
                  {Op::add, DType::f32, 4, 5, 0}};
  program.outputs = {{6}};
  REQUIRE(cuda::interpretable(program));
  CHECK(text_of(Bytecode(program)) ==
        "load 0; greater_f32_s s0; store 0; select_boolean 1; store 1; load 0; to_f32_boolean 0; "
        "add_f32_m 1; out 0; end");
}

TEST_CASE("a program is interpretable if everything in it is") {
  const auto with = [](Op op, DType type) {
    Program program = chain({{type, Access::linear}}, {});
    program.code = {{op, compute::result_type(op, type), 0, 0, 0}};
    program.outputs = {{1}};
    return program;
  };
  CHECK(cuda::interpretable(with(Op::exp, DType::f32)));
  CHECK(cuda::interpretable(with(Op::add, DType::i32)));
  CHECK_FALSE(cuda::interpretable(with(Op::exp, DType::f64)));     // an operation
  CHECK_FALSE(cuda::interpretable(with(Op::to_f32, DType::f64)));  // a leaf
  CHECK_FALSE(cuda::interpretable(with(Op::to_f64, DType::f32)));  // a result
  CHECK_FALSE(cuda::interpretable(with(Op::equal, DType::f32)));   // an output
  Program scalar = chain({kLinear}, {DType::f64});
  scalar.outputs = {{0}};
  CHECK_FALSE(cuda::interpretable(scalar));
  scalar.scalars = {DType::boolean};
  CHECK(cuda::interpretable(scalar));
  scalar.scalars.assign(cuda::kFbScalar + 1, DType::f32);
  CHECK_FALSE(cuda::interpretable(scalar));
  Program sum = sum_program(kLinear, 1, 1);
  for (const auto op : {compute::ReduceOp::sum, compute::ReduceOp::mean}) {
    sum.reduction->op = op;
    CHECK(cuda::interpretable(sum));
  }
  for (const auto op : {compute::ReduceOp::max, compute::ReduceOp::argmin}) {
    sum.reduction->op = op;
    CHECK_FALSE(cuda::interpretable(sum));
  }
}

TEST_CASE("the samples show every operation that is interpreted") {
  std::set<std::pair<Op, DType>> shown;
  for (const NamedProgram& named : sample_programs()) {
    if (!cuda::interpretable(named.program)) continue;
    for (const compute::Instruction& instruction : named.program.code) {
      shown.insert({instruction.op, named.program.type_of(instruction.a)});
    }
  }
  for (int number = 0; number < compute::kOpCount; ++number) {
    for (const DType type : {DType::f32, DType::i32, DType::boolean}) {
      const auto op = static_cast<Op>(number);
      INFO(compute::to_string(op) << " of " << to_string(type));
      if (cuda::interpretable(op, type)) CHECK(shown.contains({op, type}));
    }
  }
}
