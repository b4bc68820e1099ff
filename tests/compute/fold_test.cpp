#include "compute/fold.hpp"

#include "tests/compute/all_types.hpp"
#include "tests/compute/host/loops_check.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("constants fold to what the prelude gives") {
  int checked = 0;
  for (int number = 0; number < kOpCount; ++number) {
    const Op op = static_cast<Op>(number);
    const OpKind kind = kind_of(op);
    if (kind == OpKind::choose || kind == OpKind::draw_32 || kind == OpKind::draw_64) continue;
    for (const DType type : kAllTypes) {
      if (!has_type(op, type)) continue;
      const auto values = values_of(type, 30);
      for (const std::uint64_t a : values) {
        for (const std::uint64_t b : operands(op) == 1 ? std::vector{a} : values) {
          const ConstantValue all[] = {{type, a}, {type, b}, {type, b}};
          const auto folded = fold(op, std::span(all).first(operands(op)));
          REQUIRE(folded.has_value());
          INFO(to_string(op) << " of " << test::show(type, a) << " and " << test::show(type, b));
          REQUIRE(
              test::same_bits(result_type(op, type), *folded, test::evaluate(op, type, a, b, b)));
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 20'000);
}

TEST_CASE("a selection takes the second where the first is false, in every type") {
  constexpr std::pair<DType, std::uint64_t> kFives[] = {
      {DType::f64, 0x4014000000000000}, {DType::f16, 0x4500}, {DType::i64, 5}, {DType::u8, 5}};
  for (const auto& [type, five] : kFives) {
    const ConstantValue no[] = {{DType::boolean, 0}, {type, five}, {type, 0}};
    const ConstantValue yes[] = {{DType::boolean, 1}, {type, five}, {type, 0}};
    CHECK(*fold(Op::select, no) == 0);
    CHECK(*fold(Op::select, yes) == five);
  }
}

TEST_CASE("random numbers do not fold") {
  const ConstantValue key{DType::i32, 1};
  const ConstantValue both[] = {key, key};
  CHECK_FALSE(fold(Op::random_uniform, both).has_value());
  CHECK_FALSE(fold(Op::random_normal, both).has_value());
}

TEST_CASE("expressions of constants need no launch") {
  const Host host;
  const Tensor t = (full({2, 3}, 2.0F, host.device) + 1.0) * 4.0;
  CHECK(t.node()->is(NodeKind::constant));
  CHECK(host.launches() == 0);
  CHECK(t.to_host<float>() == std::vector<float>(6, 12.0F));
  CHECK(host.launches() == 1);
}
