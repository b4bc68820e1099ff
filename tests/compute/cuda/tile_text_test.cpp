#include "compute/cuda/tile_text.hpp"

#include <string>

#include "compute/cuda/tile_plan.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using compute::Access;
using compute::Op;
using compute::Program;

namespace {

Program sum_of(DType a, DType b) {
  Program program;
  program.leaves = {{a, Access::strided}, {b, Access::strided}, {b, Access::linear}};
  program.rank = 3;
  program.code = {{Op::add, b, 1, 2, 0}};
  program.outputs = {{0}, {3}};
  return program;
}

std::string text_of(const Program& program, std::uint32_t staged) {
  cuda::Text text;
  cuda::tile_kernel(text, program, cuda::kernel_shape(program, staged));
  return std::move(text).str();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what is staged goes through shared memory, the rest is read where it lies") {
  const std::string text = text_of(sum_of(DType::u8, DType::f32), 0b01);
  CHECK(has(text, "__shared__ FbQuad memory[2048];"));  // 256 by 128 bytes
  CHECK(has(text, "fb_patch(stage0, at, x0);"));
  CHECK_FALSE(has(text, "stage1"));
  CHECK(has(text, "r1 = p1 + (at.column + row + q) * s1 + at.patch * 4 * a.stride1_2;"));
  CHECK(has(text, "r2 = a.leaf2 + i;"));
  const std::string both = text_of(sum_of(DType::u8, DType::f32), 0b11);
  INFO("the wider one decides, and the other one takes a quarter of its bytes");
  CHECK(has(both, "__shared__ FbQuad memory[2560];"));
  CHECK(has(both, "stage1{(unsigned char*)(memory + 512), 2,"));
  CHECK_FALSE(has(both, "r1 = "));
}

TEST_CASE("a block waits once, between its tiles and its elements") {
  const std::string text = text_of(sum_of(DType::f32, DType::f32), 0b11);
  const std::size_t wait = text.find("__syncthreads();");
  REQUIRE(wait != std::string::npos);
  CHECK(text.find("__syncthreads();", wait + 1) == std::string::npos);
  CHECK(text.rfind("fb_stage(stage1") < wait);
  const std::size_t use = text.find("fb_patch(");
  REQUIRE(use != std::string::npos);
  CHECK(use > wait);
}

TEST_CASE("the dimension across is chosen among all but the innermost one") {
  const std::string text = text_of(sum_of(DType::f32, DType::f32), 0b01);
  CHECK(has(text, "step = a.across_dim == 1 ? a.step1 : a.step0;"));
  CHECK(has(text, "s1 = a.across_dim == 1 ? a.stride1_1 : a.stride1_0;"));
}

TEST_CASE("long programs take the rows of a patch one after the other") {
  Program program = sum_of(DType::f32, DType::f32);
  CHECK_FALSE(has(text_of(program, 1), "++row"));
  for (unsigned k = 0; k < 60; ++k) {
    program.code.push_back({Op::exp, DType::f32, static_cast<compute::Value>(3 + k), 0, 0});
  }
  CHECK(has(text_of(program, 1), "row < at.acrosses; ++row"));
}
