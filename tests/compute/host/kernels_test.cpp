#include "compute/host/kernels.hpp"

#include <numeric>
#include <random>

#include "tests/compute/reference.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("there is a loop for every operation on the types it has") {
  constexpr DType kTypes[] = {DType::f64, DType::f32, DType::i64,
                              DType::i32, DType::u8,  DType::boolean};
  for (int number = 0; number < kOpCount; ++number) {
    const auto op = static_cast<Op>(number);
    for (const DType type : kTypes) {
      const DType first = kind_of(op) == OpKind::choose ? DType::boolean : type;
      if (!has_type(op, type)) {
        CHECK(host::find_kernel(op, first, type) == nullptr);
      } else if (!host::is_narrow(result_type(op, type))) {
        INFO(to_string(op) << " of " << to_string(type));
        CHECK(host::find_kernel(op, first, result_type(op, type)) != nullptr);
      }
    }
  }
}

TEST_CASE("what is exact needs no rounding in f16 and bf16") {
  std::mt19937 random(1);
  int exact = 0;
  for (int number = 0; number < kOpCount; ++number) {
    const auto op = static_cast<Op>(number);
    if (!host::is_exact(op) || kind_of(op) == OpKind::choose) continue;
    ++exact;
    for (const DType narrow : {DType::f16, DType::bf16}) {
      for (int i = 0; i < 3000; ++i) {
        std::uint64_t wide[3];
        for (std::uint64_t& bits : wide) {
          bits = test::cast_bits(random() % 65536, narrow, DType::f32);
        }
        const std::uint64_t result = test::evaluate(op, DType::f32, wide[0], wide[1], wide[2]);
        const std::uint64_t back =
            test::cast_bits(test::cast_bits(result, DType::f32, narrow), narrow, DType::f32);
        INFO(to_string(op));
        REQUIRE(test::same_bits(DType::f32, result, back));
      }
    }
  }
  CHECK(exact >= 6);
}

TEST_CASE("a loop may write over its operands, and beyond nothing") {
  const host::Kernel add = host::find_kernel(Op::add, DType::f32, DType::f32);
  for (std::size_t n = 0; n <= 70; ++n) {
    std::vector<float> a(n + 2, 100.0F);
    std::iota(a.begin() + 1, a.end() - 1, 0.0F);
    add(a.data() + 1, a.data() + 1, nullptr, a.data() + 1, n, 0);
    REQUIRE(a.front() == 100);
    REQUIRE(a.back() == 100);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(a[i + 1] == 2.0F * static_cast<float>(i));
  }
}
