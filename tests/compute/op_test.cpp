#include "forebay/compute/op.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::compute;

TEST_CASE("operations know their names and operands") {
  CHECK(std::string(to_string(Op::neg)) == "neg");
  CHECK(std::string(to_string(Op::random_normal)) == "random_normal");
  CHECK(operands(Op::exp) == 1);
  CHECK(operands(Op::add) == 2);
  CHECK(operands(Op::select) == 3);
}

TEST_CASE("kinds say which types an operation has, and what it gives") {
  CHECK(has_type(Op::add, DType::boolean));
  CHECK_FALSE(has_type(Op::sub, DType::boolean));
  CHECK(has_type(Op::sub, DType::u8));
  CHECK(has_type(Op::exp, DType::bf16));
  CHECK_FALSE(has_type(Op::exp, DType::i64));
  CHECK(has_type(Op::random_uniform, DType::i32));
  CHECK_FALSE(has_type(Op::random_uniform, DType::f32));
  CHECK(result_type(Op::add, DType::f16) == DType::f16);
  CHECK(result_type(Op::greater, DType::f16) == DType::boolean);
  CHECK(result_type(Op::random_normal, DType::i32) == DType::f32);
  CHECK(result_type(Op::to_u8, DType::f64) == DType::u8);
}

TEST_CASE("a cast is named by its type") {
  CHECK(cast_to(DType::f64) == Op::to_f64);
  CHECK(cast_to(DType::boolean) == Op::to_boolean);
  for (int type = 0; type < 8; ++type) {
    CHECK(result_type(cast_to(static_cast<DType>(type)), DType::f32) == static_cast<DType>(type));
  }
}

TEST_CASE("reductions by their rules") {
  const ReduceRule sum = rule_of(ReduceOp::sum, DType::f16);
  CHECK(sum.join == Op::add);
  CHECK(sum.term == DType::f32);
  CHECK(sum.total == DType::f64);
  CHECK(sum.result == DType::f16);
  CHECK_FALSE(sum.divides);
  CHECK(rule_of(ReduceOp::mean, DType::f32).divides);
  CHECK(rule_of(ReduceOp::sum, DType::boolean).result == DType::i64);
  CHECK(rule_of(ReduceOp::prod, DType::i32).total == DType::i64);
  CHECK(rule_of(ReduceOp::prod, DType::f32).term == DType::f64);
  CHECK(rule_of(ReduceOp::min, DType::u8).result == DType::u8);
  CHECK(rule_of(ReduceOp::max, DType::bf16).total == DType::f32);
  const ReduceRule last = rule_of(ReduceOp::argmax, DType::f64);
  CHECK(last.indexed);
  CHECK(last.join == Op::max);
  CHECK(last.total == DType::f64);
  CHECK(last.result == DType::i64);
  CHECK(has_type(ReduceOp::mean, DType::f16));
  CHECK_FALSE(has_type(ReduceOp::mean, DType::i32));
  CHECK(std::string(to_string(ReduceOp::argmin)) == "argmin");
}
