#include "compute/fold.hpp"

#include <limits>

#include "compute/host/kernels.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

const std::vector<ConstantValue>& values() {
  static const std::vector<ConstantValue> list = [] {
    std::vector<ConstantValue> made;
    using F = std::numeric_limits<float>;
    for (const float f : {0.0F, -0.0F, 1.0F, -1.5F, 3.1F, F::infinity(), -F::infinity(),
                          F::quiet_NaN(), F::denorm_min(), F::max(), 2147483648.0F}) {
      made.push_back({DType::f32, std::bit_cast<std::uint32_t>(f)});
    }
    using I = std::numeric_limits<std::int32_t>;
    for (const std::int32_t i : {0, 1, -1, 7, I::max(), I::min()}) {
      made.push_back({DType::i32, static_cast<std::uint32_t>(i)});
    }
    return made;
  }();
  return list;
}

}  // namespace

TEST_CASE("constants fold to what the host's loops give") {
  int checked = 0;
  for (int number = 0; number <= static_cast<int>(Op::select); ++number) {
    const Op op = static_cast<Op>(number);
    for (const ConstantValue& a : values()) {
      for (const ConstantValue& b : values()) {
        for (const DType result : {DType::f32, DType::i32}) {
          const host::Kernel kernel = host::find_kernel(op, a.type, result);
          if (kernel == nullptr) continue;
          // Operands of one type, but for the condition of a selection.
          const bool fits = op == Op::select ? b.type == result : b.type == a.type;
          if (!fits) continue;
          const ConstantValue all[] = {a, b, b};
          const auto folded = fold(op, std::span(all).first(operands(op)));
          REQUIRE(folded.has_value());
          std::uint32_t expected = 0;
          kernel(&a.bits, &b.bits, &b.bits, &expected, 1, 0);
          INFO(to_string(op) << " of " << a.bits << " and " << b.bits);
          const bool equal = result == DType::f32 ? same(std::bit_cast<float>(*folded),
                                                         std::bit_cast<float>(expected))
                                                  : *folded == expected;
          REQUIRE(equal);
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 1500);
}

TEST_CASE("a selection takes the second where the first is zero") {
  const ConstantValue zero{DType::i32, 0};
  const ConstantValue minus_zero{DType::f32, std::bit_cast<std::uint32_t>(-0.0F)};
  const ConstantValue nan{DType::f32,
                          std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN())};
  const ConstantValue five{DType::i32, 5};
  const ConstantValue six{DType::i32, 6};
  const auto select = [&](const ConstantValue& c) {
    const ConstantValue all[] = {c, five, six};
    return *fold(Op::select, all);
  };
  CHECK(select(zero) == 6);
  CHECK(select(minus_zero) == 6);
  CHECK(select(nan) == 5);
  CHECK(select(five) == 5);
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
