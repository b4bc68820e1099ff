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

/// "add_f32_s s0; exp:f64 0 2 s1; end", scalars with an s in front: the first slot of a
/// general operation is its result.
std::string text_of(const Bytecode& bytecode) {
  const auto operand = [](unsigned value, bool scalar) {
    scalar = scalar || (value & cuda::kFbScalar) != 0;
    return (scalar ? " s" : " ") + std::to_string(value & (cuda::kFbScalar - 1));
  };
  std::string text;
  for (std::size_t k = 0; k < bytecode.code.size(); ++k) {
    const std::uint32_t word = bytecode.code[k];
    const unsigned code = word >> cuda::kFbCodeShift;
    const unsigned b = word >> cuda::kFbOperandBits & cuda::kFbOperandMask;
    const unsigned c = word & cuda::kFbOperandMask;
    const std::string name = cuda::code_name(code);
    text += name;
    if (code == cuda::kFbEnd) return text;
    if (cuda::is_general(code)) {
      const auto op = static_cast<Op>((code - cuda::kFbGeneral) / cuda::kFbTypes);
      const unsigned second = bytecode.code[++k];
      text += operand(b, false) + operand(c, false);
      if (compute::operands(op) > 1) text += operand(second >> cuda::kFbOperandBits, false);
      if (compute::operands(op) > 2) text += operand(second & cuda::kFbOperandMask, false);
    } else {
      const bool none = name.ends_with("_a") || name.starts_with("neg") || name.starts_with("to_");
      if (!none) text += operand(b, name.ends_with("_s") || name.ends_with("_rs"));
      if (name.ends_with("_wide")) text += operand(c, false);
    }
    if (code == cuda::kFbOutLast) return text;
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
  CHECK(text_of(bytecode) == "add_f32_s s0; mul_f32_s s1; sub_f32_rs s0; mul_f32_a; out_last 0");
  CHECK(bytecode.slots == 1);
}

TEST_CASE("what is needed again is stored, in the slot of what is not") {
  Program program = chain({kLinear, kLinear}, {});
  program.code = {{Op::add, DType::f32, 0, 1, 0},   // 2: x + y, both leaves end
                  {Op::neg, DType::f32, 2, 0, 0},   // 3
                  {Op::sub, DType::f32, 2, 3, 0}};  // 4
  program.outputs = {{4}};
  const Bytecode bytecode(program);
  CHECK(text_of(bytecode) == "add_f32_m 0; store 1; neg_f32; sub_f32_rm 1; out_last 0");
  CHECK(bytecode.slots == 2);
}

TEST_CASE("single leaves are read first; a general operation goes from slots to a slot") {
  Program program = chain({kLinear, {DType::f32, Access::single}}, {});
  program.code = {{Op::mul, DType::f32, 0, 1, 0}, {Op::exp, DType::f32, 2, 0, 0}};
  program.outputs = {{3}};
  const Bytecode bytecode(program);
  CHECK(text_of(bytecode) == "single 0; store 1; mul_f32_m 0; store 1; exp:f32 1 1; out_last 0");
  REQUIRE(bytecode.leaves.size() == 1);
  CHECK(bytecode.leaves[0].leaf == 0);
  CHECK(bytecode.leaves[0].slot == 0);
  CHECK(bytecode.singles == std::vector<std::uint16_t>{1});
  CHECK(bytecode.slots == 2);
  CHECK(bytecode.typed);
}

TEST_CASE("f64 and i64 take two slots, and never the accumulator") {
  Program program =
      chain({{DType::f64, Access::linear}, {DType::f32, Access::linear}}, {DType::f32, DType::f64});
  program.code = {{Op::add, DType::f64, 0, 3, 0},      // 4
                  {Op::to_f64, DType::f64, 1, 0, 0},   // 5
                  {Op::mul, DType::f64, 4, 5, 0},      // 6
                  {Op::to_f32, DType::f32, 6, 0, 0}};  // 7
  program.outputs = {{6}, {7}};
  const Bytecode bytecode(program);
  CHECK(text_of(bytecode) ==
        "add:f64 0 0 s1; to_f64:f32 3 2; mul:f64 3 0 3; out_wide 0 3; to_f32:f64 2 3; out_last 1");
  CHECK(bytecode.slots == 5);
  CHECK(bytecode.scalar_at == std::vector<std::uint16_t>{0, 1});
  CHECK(bytecode.scalar_words == 3);
}

TEST_CASE("small types are computed as f32 or i32 and rounded; their casts to these are nothing") {
  Program program = chain({{DType::f16, Access::linear}}, {DType::f16});
  program.code = {{Op::add, DType::f16, 0, 1, 0},     // 2
                  {Op::to_f32, DType::f32, 2, 0, 0},  // 3
                  {Op::add, DType::f32, 3, 3, 0}};    // 4
  program.outputs = {{4}};
  CHECK(text_of(Bytecode(program)) == "add_f32_s s0; to_f16_f32; add_f32_a; out_last 0");
  program = chain({{DType::u8, Access::linear}}, {DType::u8});
  program.code = {{Op::sub, DType::u8, 1, 0, 0},      // 2
                  {Op::to_i32, DType::i32, 2, 0, 0},  // 3
                  {Op::neg, DType::i32, 3, 0, 0}};    // 4
  program.outputs = {{4}};
  CHECK(text_of(Bytecode(program)) == "sub_i32_rs s0; to_u8_i32; neg_i32; out_last 0");
  // What is only stored is rounded there, but for bf16.
  program.code = {{Op::sub, DType::u8, 1, 0, 0}};
  program.outputs = {{2}};
  CHECK(text_of(Bytecode(program)) == "sub_i32_rs s0; out_last 0");
  program.code = {{Op::sub, DType::u8, 1, 0, 0}, {Op::to_i32, DType::i32, 2, 0, 0}};
  program.outputs = {{2}, {3}};
  CHECK(text_of(Bytecode(program)) == "sub_i32_rs s0; to_u8_i32; out 0; out_last 1");
  program = chain({{DType::f16, Access::linear}, {DType::bf16, Access::linear}}, {});
  program.code = {{Op::add, DType::f16, 0, 0, 0}, {Op::add, DType::bf16, 1, 1, 0}};
  program.outputs = {{2}, {3}};
  CHECK(text_of(Bytecode(program)) ==
        "load 0; add_f32_a; out 0; load 1; add_f32_a; to_bf16_f32; out_last 1");
  // What has no light operation: of u8 by its own, of bf16 as f32 that is rounded.
  program = chain({{DType::u8, Access::linear}, {DType::bf16, Access::linear}}, {});
  program.code = {{Op::pow, DType::u8, 0, 0, 0}, {Op::tan, DType::bf16, 1, 0, 0}};
  program.outputs = {{2}, {3}};
  CHECK(text_of(Bytecode(program)) == "pow:u8 0 0 0; out 0; tan:f32 1 1; to_bf16_f32; out_last 1");
}

TEST_CASE("the sum of booleans is their or, and less is greater the other way round") {
  Program program = chain({{DType::boolean, Access::linear}, {DType::boolean, Access::linear}}, {});
  program.code = {{Op::add, DType::boolean, 0, 1, 0}};
  program.outputs = {{2}};
  CHECK(text_of(Bytecode(program)) == "bit_or_i32_m 0; out_last 0");
  program = chain({kLinear}, {DType::f32});
  program.code = {{Op::less, DType::boolean, 0, 1, 0}};
  program.outputs = {{2}};
  CHECK(text_of(Bytecode(program)) == "greater_f32_rs s0; out_last 0");
}

TEST_CASE("random numbers are counted by indices in slots of their own") {
  Program program = chain({}, {DType::i32, DType::i32});
  program.code = {{Op::random_uniform, DType::f32, 0, 1, 0},
                  {Op::random_uniform_f64, DType::f64, 0, 1, 0}};
  program.outputs = {{2}, {3}};
  CHECK(text_of(Bytecode(program)) ==
        "index 0; random_uniform:i32 2 s0 s1; out 0; index 0; random_uniform_f64:i32 3 s0 s1; "
        "out_wide 1 3; end");
}

TEST_CASE("what is reduced ends in the accumulator, or in its slots where it takes two") {
  Program program = sum_program(kLinear, 1, 1);
  Bytecode bytecode(program);
  CHECK(text_of(bytecode) == "end");
  CHECK_FALSE(bytecode.typed);
  CHECK(bytecode.slots == 1);
  program = sum_program({DType::i64, Access::linear}, 1, 1);
  bytecode = Bytecode(program);
  CHECK(text_of(bytecode) == "end");
  CHECK(bytecode.typed);
  program = sum_program(kLinear, 1, 1);
  program.reduction->op = compute::ReduceOp::max;
  CHECK(Bytecode(program).typed);
}

TEST_CASE("casts to the same type are no instructions; leaves and scalars are stored at the end") {
  Program program = chain({kLinear}, {DType::f32});
  program.code = {{Op::to_f32, DType::f32, 0, 0, 0}, {Op::neg, DType::f32, 2, 0, 0}};
  program.outputs = {{2}, {3}, {1}};
  CHECK(text_of(Bytecode(program)) == "neg_f32; out 1; load 0; out 0; load s0; out_last 2");
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
  CHECK(text_of(Bytecode(program)) ==
        "load 0; greater_f32_s s0; store 0; select_boolean 1; store 1; load 0; to_f32_i32; "
        "add_f32_m 1; out_last 0");
}

TEST_CASE("leaves say whether the code reads their slots, or has them from the accumulator alone") {
  const auto read = [](std::vector<compute::Instruction> code, std::size_t leaves, DType type) {
    Program program;
    program.leaves.assign(leaves, {type, Access::linear});
    program.outputs = {{static_cast<compute::Value>(leaves + code.size() - 1)}};
    program.code = std::move(code);
    std::vector<bool> found;
    for (const Bytecode::Placed& leaf : Bytecode(program).leaves) found.push_back(leaf.read);
    return found;
  };
  using Read = std::vector<bool>;
  for (const DType type : {DType::f32, DType::u8}) {
    CHECK(read({{Op::add, type, 0, 0, 0}}, 1, type) == Read{false});
    CHECK(read({{Op::add, type, 0, 1, 0}}, 2, type) == Read{true, false});
    CHECK(read({{Op::add, type, 0, 1, 0}, {Op::mul, type, 2, 1, 0}}, 2, type) == Read{true, true});
  }
  CHECK(read({{Op::add, DType::f64, 0, 0, 0}}, 1, DType::f64) == Read{true});
}

TEST_CASE("every operation of every type has bytecode, and the samples show each") {
  std::set<std::pair<Op, DType>> shown;
  for (const NamedProgram& named : sample_programs()) {
    const Bytecode bytecode(named.program);
    CHECK(text_of(bytecode).find('?') == std::string::npos);
    for (const compute::Instruction& instruction : named.program.code) {
      shown.insert({instruction.op, named.program.type_of(instruction.a)});
    }
  }
  for (int number = 0; number < compute::kOpCount; ++number) {
    for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64,
                             DType::i32, DType::u8, DType::boolean}) {
      const auto op = static_cast<Op>(number);
      INFO(compute::to_string(op) << " of " << to_string(type));
      if (!has_type(op, type)) continue;
      CHECK(shown.contains({op, op == Op::select ? DType::boolean : type}));
      Program program = chain({{type, Access::linear}, {DType::boolean, Access::linear}}, {});
      const auto first = static_cast<compute::Value>(op == Op::select ? 1 : 0);
      program.code = {{op, result_type(op, type), first, 0, 0}};
      program.outputs = {{2}};
      CHECK(!text_of(Bytecode(program)).ends_with("no end"));
    }
  }
}
