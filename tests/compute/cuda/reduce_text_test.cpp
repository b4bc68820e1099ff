#include "compute/cuda/reduce_text.hpp"

#include "tests/support/catch.hpp"

using namespace forebay;
using compute::Identity;
using compute::ReduceOp;

TEST_CASE("eight terms are joined by a tree of three levels") {
  CHECK(cuda::tree_text("f") ==
        "f(f(f(t[0], t[1]), f(t[2], t[3])), f(f(t[4], t[5]), f(t[6], t[7])))");
}

TEST_CASE("what nothing reduces to is the type's own") {
  CHECK(cuda::identity_text(Identity::zero, DType::f64) == "0");
  CHECK(cuda::identity_text(Identity::one, DType::i64) == "1");
  CHECK(cuda::identity_text(Identity::highest, DType::u8) == "255");
  CHECK(cuda::identity_text(Identity::lowest, DType::f32) == "FB_FLOAT(0xff800000U)");
}

TEST_CASE("a reduction's names take a suffix, and its parts join by the rule") {
  cuda::Text text;
  cuda::declare_reduction(text, rule_of(ReduceOp::sum, DType::f32), "3");
  const std::string sum = std::move(text).str();
  CHECK(sum.find("typedef double Sum3;\ntypedef float Term3;\n") == 0);
  CHECK(sum.find("fb_join3(Sum3 a, Sum3 b) { return fb_add(a, b); }") != std::string::npos);
  CHECK(cuda::join_text(rule_of(ReduceOp::argmax, DType::i32)) == "fb_best_max");
  CHECK(cuda::cast_text(DType::bf16, "x") == "fb_to_bf16(x)");
}
