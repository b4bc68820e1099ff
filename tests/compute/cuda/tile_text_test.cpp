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
  CHECK(has(text, "__shared__ unsigned char tile0[64][68];"));
  CHECK_FALSE(has(text, "tile1"));
  CHECK(has(text, "x0[e] = tile0[inner][row + e * 4];"));
  CHECK(has(text, "if (inside) x1[e] = q1[e * 4 * s1];"));
  CHECK(has(text, "if (inside) x2[e] = a.leaf2[i];"));
  const std::string both = text_of(sum_of(DType::u8, DType::f32), 0b11);
  CHECK(has(both, "__shared__ float tile1[64][65];"));
  CHECK_FALSE(has(both, "q1[e"));
}

TEST_CASE("a block waits once, between its tiles and its elements") {
  const std::string text = text_of(sum_of(DType::f32, DType::f32), 0b11);
  const std::size_t wait = text.find("__syncthreads();");
  REQUIRE(wait != std::string::npos);
  CHECK(text.find("__syncthreads();", wait + 1) == std::string::npos);
  CHECK(text.rfind("tile1[column") < wait);
  CHECK(text.find("= tile0[inner]") > wait);
}

TEST_CASE("the dimension across is chosen among all but the innermost one") {
  const std::string text = text_of(sum_of(DType::f32, DType::f32), 0b01);
  CHECK(has(text, "step = a.across_dim == 1 ? a.step1 : a.step0;"));
  CHECK(has(text, "s1 = a.across_dim == 1 ? a.stride1_1 : a.stride1_0;"));
}

TEST_CASE("long programs take a thread's elements in several passes") {
  Program program = sum_of(DType::f32, DType::f32);
  CHECK(has(text_of(program, 1), "n < 1;"));
  for (unsigned k = 0; k < 60; ++k) {
    program.code.push_back({Op::exp, DType::f32, static_cast<compute::Value>(3 + k), 0, 0});
  }
  CHECK(has(text_of(program, 1), "n < 4;"));
}
