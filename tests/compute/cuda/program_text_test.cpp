#include "compute/cuda/program_text.hpp"

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using compute::Access;
using compute::Op;
using compute::Program;
using cuda::KernelShape;
using cuda::ProgramText;
using cuda::Text;

TEST_CASE("values are named in the program's order: leaves, scalars, results") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}, {DType::i32, Access::single}};
  program.scalars = {DType::f32};
  program.code = {{Op::mul, DType::f32, 0, 2, 0},
                  {Op::to_f32, DType::f32, 1, 0, 0},
                  {Op::greater, DType::boolean, 3, 4, 0},
                  {Op::select, DType::f32, 5, 3, 4}};
  const KernelShape shape;
  const ProgramText code(program, shape);
  Text values;
  code.code(values);
  CHECK(std::move(values).str() ==
        "      const float v3 = fb_mul(v0, v2);\n"
        "      const float v4 = fb_to_f32(v1);\n"
        "      const bool v5 = fb_greater(v3, v4);\n"
        "      const float v6 = fb_select(v5, v3, v4);\n");
  program.outputs = {{6}};
  Text elements;
  code.compute(elements);
  const std::string text = std::move(elements).str();
  CHECK(text.starts_with("      const float v0 = x0[e];\n      const float v3"));
  CHECK(text.ends_with("      y0[e] = v6;\n"));
  Text constants;
  code.constants(constants);
  CHECK(std::move(constants).str() ==
        "  const int v1 = *a.leaf1;\n"
        "  const float v2 = a.scalar0;\n");
}

TEST_CASE("only random operations need the index of an element") {
  Program program;
  program.scalars = {DType::i32, DType::i32};
  program.code = {{Op::add, DType::i32, 0, 1, 0}};
  const KernelShape shape;
  CHECK_FALSE(ProgramText(program, shape).uses_index());
  program.code.push_back({Op::random_uniform, DType::f32, 0, 1, 0});
  CHECK(ProgramText(program, shape).uses_index());
}

TEST_CASE("a strided element is addressed by its coordinates") {
  Program program;
  program.rank = 2;
  program.leaves = {{DType::f32, Access::strided}, {DType::f32, Access::linear}};
  const KernelShape shape;
  CHECK(ProgramText(program, shape).element(0, {0, 1}) ==
        "a.leaf0[c0 * a.stride0_0 + c1 * a.stride0_1]");
  CHECK(ProgramText(program, shape).element(1, {0, 1}) == "a.leaf1[i]");
  program.reduction = compute::Reduction{compute::ReduceOp::sum, 0};
  CHECK(ProgramText(program, shape).element(0, {1}) == "p0[c1 * a.stride0_1]");
  CHECK(ProgramText(program, shape).element(0, {}) == "p0[0]");
}

TEST_CASE("dear operations and strides weigh more") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}};
  program.code = {{Op::add, DType::f32, 0, 0, 0}};
  const unsigned one = cuda::weight(program);
  program.code[0].op = Op::exp;
  CHECK(cuda::weight(program) > one);
  program.code[0].op = Op::add;
  program.leaves[0].access = Access::strided;
  CHECK(cuda::weight(program) > one);
}
