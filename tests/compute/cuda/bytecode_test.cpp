#include "compute/cuda/bytecode.hpp"

#include <string>

#include "forebay/pool/error.hpp"
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

TEST_CASE("every operation that programs have is interpreted") {
  for (const NamedProgram& named : sample_programs()) {
    INFO(named.name);
    for (const compute::Instruction& instruction : named.program.code) {
      CHECK(cuda::interpretable(instruction.op, named.program.type_of(instruction.a)));
    }
    CHECK_NOTHROW(Bytecode(named.program));
  }
  CHECK_FALSE(cuda::interpretable(Op::exp, DType::i32));
  Program program = chain({{DType::i32, Access::linear}}, {});
  program.code = {{Op::sqrt, DType::i32, 0, 0, 0}};
  CHECK_THROWS_AS(Bytecode(program), Error);
}
