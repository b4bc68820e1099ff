#include "compute/cuda/kernel_shape.hpp"

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

cuda::KernelShape shape(const std::string& name) {
  for (const NamedProgram& named : sample_programs()) {
    if (named.name == name) return cuda::kernel_shape(named.program);
  }
  throw Error("no sample " + name);
}

}  // namespace

TEST_CASE("programs use vectors, long ones do not") {
  CHECK(shape("sum_all").vector);
  CHECK(shape("sum_rows").vector);
  CHECK(shape("sum_stored").vector);
  CHECK_FALSE(shape("sum_columns").vector);
  CHECK_FALSE(shape("sum_all_strided").vector);
  CHECK(shape("shifted").vector);
  CHECK(shape("shifted_row_sums").vector);
  CHECK_FALSE(shape("widest_map").vector);
  CHECK(shape("widest_map").passes > 1);
  CHECK(shape("widest_reduction").per_thread() == shape("sum_all").per_thread());
}

TEST_CASE("by tiles a patch is taken at once unless a thread would hold too much of it") {
  compute::Program program;
  program.rank = 2;
  program.outputs = {{0}};
  const auto tiled = [&](DType type, unsigned leaves) {
    program.leaves.assign(leaves, {type, compute::Access::linear});
    program.leaves[0].access = compute::Access::strided;
    return cuda::kernel_shape(program, 1);
  };
  CHECK(tiled(DType::f32, 3).passes == 1);
  CHECK(tiled(DType::f32, 3).residents == 4);
  CHECK(tiled(DType::f32, 4).passes == 1);
  CHECK(tiled(DType::f32, 4).residents == 2);
  CHECK(tiled(DType::u8, 4).residents == 2);  // a register holds one element
  CHECK(tiled(DType::f64, 1).residents == 4);
  CHECK(tiled(DType::f64, 2).residents == 2);
  CHECK(tiled(DType::f64, 4).residents == 4);
  CHECK(tiled(DType::f64, 4).elements == 2);
  CHECK(tiled(DType::f64, 4).passes == 8);
}
