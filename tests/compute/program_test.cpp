#include "forebay/compute/program.hpp"

#include <set>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;

TEST_CASE("values have types by their place") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}, {DType::i32, Access::single}};
  program.scalars = {DType::i32};
  program.code = {{.op = Op::to_f32, .type = DType::f32, .a = 1}};
  CHECK(program.type_of(0) == DType::f32);
  CHECK(program.type_of(1) == DType::i32);
  CHECK(program.type_of(2) == DType::i32);
  CHECK(program.type_of(3) == DType::f32);
}

TEST_CASE("different programs have different keys") {
  // All wirings of up to three instructions over two leaves: d*e-e, d*e-d, c-d, d-c and so on.
  std::set<std::string> keys;
  std::size_t programs = 0;
  const auto extend = [&](auto&& self, Program program) -> void {
    if (!program.code.empty()) {
      program.outputs = {{static_cast<Value>(1 + program.code.size())}};
      keys.insert(program.key());
      ++programs;
    }
    if (program.code.size() == 3) return;
    const auto values = static_cast<Value>(2 + program.code.size());
    for (const Op op : {Op::sub, Op::mul}) {
      for (Value a = 0; a < values; ++a) {
        for (Value b = 0; b < values; ++b) {
          Program next = program;
          next.code.push_back({.op = op, .type = DType::f32, .a = a, .b = b});
          self(self, next);
        }
      }
    }
  };
  Program start;
  start.leaves.resize(2);
  extend(extend, start);
  CHECK(programs == 8 + 8 * 18 + 8 * 18 * 32);
  CHECK(keys.size() == programs);
}

TEST_CASE("a key tells everything about a program") {
  Program base;
  base.leaves = {{DType::f32, Access::linear}};
  base.scalars = {DType::f32};
  base.code = {{.op = Op::add, .type = DType::f32, .a = 0, .b = 1}};
  base.outputs = {{2}};
  std::vector<Program> variants(9, base);
  variants[1].leaves[0].access = Access::strided;
  variants[2].leaves[0].type = DType::i32;
  variants[3].scalars[0] = DType::i32;
  variants[4].code[0].op = Op::mul;
  variants[5].outputs.push_back({0});
  variants[6].rank = 2;
  variants[7].reduction = Reduction{ReduceOp::sum, 2};
  variants[8].reduction = Reduction{ReduceOp::mean, 2};
  std::set<std::string> keys;
  for (const Program& program : variants) keys.insert(program.key());
  CHECK(keys.size() == variants.size());
  Program other_dims = variants[7];
  other_dims.reduced_dims = 1;
  CHECK(other_dims.key() != variants[7].key());
  CHECK(Program(base).key() == base.key());
}

TEST_CASE("what an executor keeps belongs to one program") {
  Program program;
  CHECK(program.prepared.find<int>(&program) == nullptr);
  int other = 0;
  CHECK(program.prepared.keep(&program, std::make_shared<int>(5)) == 5);
  CHECK(*program.prepared.find<int>(&program) == 5);
  CHECK(program.prepared.find<int>(&other) == nullptr);
  const Program copy = program;
  CHECK(copy == program);
  CHECK(copy.prepared.find<int>(&program) == nullptr);
}
