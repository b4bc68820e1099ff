#include "compute/host/block_program.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

Instruction step(Op op, Value a, Value b = 0) {
  return {.op = op, .type = DType::f32, .a = a, .b = b};
}

}  // namespace

TEST_CASE("intermediate values share buffers by their lifetimes") {
  Program chain;
  chain.leaves.resize(1);
  for (Value i = 0; i < 100; ++i) chain.code.push_back(step(Op::neg, i));
  chain.outputs = {{100}};
  CHECK(host::BlockProgram(chain).bytes == 4 * host::kBlock);

  Program wide;  // all results are needed at the end
  wide.leaves.resize(1);
  for (int i = 0; i < 8; ++i) wide.code.push_back(step(Op::neg, 0));
  wide.code.push_back(step(Op::add, 1, 2));
  for (Value i = 3; i <= 8; ++i) {
    wide.code.push_back(step(Op::add, static_cast<Value>(wide.code.size()), i));
  }
  wide.outputs = {{static_cast<Value>(wide.code.size())}};
  CHECK(host::BlockProgram(wide).bytes == 8 * 4 * host::kBlock);
}

TEST_CASE("an operation without a loop is an error") {
  Program program;
  program.leaves = {{DType::i32, Access::linear}};
  program.code = {{.op = Op::exp, .type = DType::i32, .a = 0}};
  program.outputs = {{1}};
  CHECK(contains(message_of<Error>([&] { const host::BlockProgram compiled(program); }),
                 "exp on i32"));
}

TEST_CASE("a chain goes two operations at a time, where nobody else wants what is between") {
  const auto steps_of = [](std::vector<Instruction> code, std::vector<Output> outputs,
                           DType type = DType::f32) {
    Program program;
    program.leaves = {{type, Access::linear}, {type, Access::linear}};
    program.scalars = {type};
    for (Instruction& instruction : code) instruction.type = type;
    program.code = std::move(code);
    program.outputs = std::move(outputs);
    return host::BlockProgram(program).steps.size();
  };
  CHECK(steps_of({step(Op::mul, 1, 2), step(Op::add, 0, 3)}, {{4}}) == 1);
  CHECK(steps_of({step(Op::mul, 2, 1), step(Op::sub, 3, 2), step(Op::add, 4, 4)}, {{5}}) == 2);
  // A difference from the result is none with it.
  CHECK(steps_of({step(Op::mul, 1, 2), step(Op::sub, 0, 3)}, {{4}}) == 2);
  CHECK(steps_of({step(Op::mul, 1, 2), step(Op::add, 0, 3)}, {{4}, {3}}) == 2);
  CHECK(steps_of({step(Op::mul, 1, 2), step(Op::add, 3, 3)}, {{4}}) == 2);
  CHECK(steps_of({step(Op::mul, 1, 2), step(Op::div, 3, 0)}, {{4}}) == 2);
  CHECK(steps_of({step(Op::mul, 1, 2), step(Op::add, 0, 3)}, {{4}}, DType::i32) == 2);
}
