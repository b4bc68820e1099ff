#include "compute/apply.hpp"

#include <functional>

#include "forebay/compute/math.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

Tensor of(const Host& host, DType type, const Dims& shape = {2}) {
  return ones(shape, host.device, type).eval();
}

}  // namespace

TEST_CASE("types of tensors with dimensions are promoted") {
  const Host host;
  for (const DType a : kAllTypes) {
    for (const DType b : kAllTypes) {
      CHECK((of(host, a) + of(host, b)).dtype() == promote(a, b));
    }
  }
}

TEST_CASE("tensors without dimensions and numbers only lift the category") {
  const Host host;
  const auto beside = [&](DType whole, DType single) {
    return (of(host, whole) + of(host, single, Dims())).dtype();
  };
  CHECK(beside(DType::f16, DType::f64) == DType::f16);
  CHECK(beside(DType::i32, DType::i64) == DType::i32);
  CHECK(beside(DType::u8, DType::i64) == DType::u8);
  CHECK(beside(DType::i32, DType::f64) == DType::f64);
  CHECK(beside(DType::boolean, DType::i32) == DType::i32);
  CHECK(beside(DType::i64, DType::f16) == DType::f16);
  const auto number = [&](DType type, Scalar scalar, const Dims& shape) {
    return (of(host, type, shape) + scalar).dtype();
  };
  for (const Dims& shape : {Dims{2}, Dims()}) {
    CHECK(number(DType::f16, 1.5, shape) == DType::f16);
    CHECK(number(DType::f64, 1, shape) == DType::f64);
    CHECK(number(DType::i32, 1.5, shape) == DType::f32);
    CHECK(number(DType::u8, 1000, shape) == DType::u8);
    CHECK(number(DType::boolean, 1, shape) == DType::i64);
    CHECK(number(DType::boolean, true, shape) == DType::boolean);
    CHECK(number(DType::bf16, true, shape) == DType::bf16);
  }
}

TEST_CASE("real operations lift integers to the default real type") {
  const Host host;
  CHECK(exp(of(host, DType::i64)).dtype() == DType::f32);
  CHECK(exp(of(host, DType::boolean)).dtype() == DType::f32);
  CHECK(exp(of(host, DType::f16)).dtype() == DType::f16);
  CHECK((of(host, DType::u8) / of(host, DType::i64)).dtype() == DType::f32);
  CHECK((of(host, DType::f64) / of(host, DType::i64)).dtype() == DType::f64);
}

TEST_CASE("numbers are cast to the type of the operation") {
  const Host host;
  CHECK((of(host, DType::f64) + 0.1).to_host<double>()[0] == 1.1);
  CHECK((of(host, DType::i64) + (std::int64_t{1} << 40)).to_host<std::int64_t>()[1] ==
        (std::int64_t{1} << 40) + 1);
  CHECK((of(host, DType::u8) + 300).to_host<std::uint8_t>()[0] == 45);
  CHECK(static_cast<float>((of(host, DType::f16) + 1e6).to_host<half>()[0]) ==
        std::numeric_limits<float>::infinity());
}

TEST_CASE("what has no form for a type is refused in one line with both shapes") {
  const Host host;
  const Tensor truth = of(host, DType::boolean, {2, 3});
  CHECK(message_of<ShapeError>([&] { (void)(truth - of(host, DType::boolean)); }) ==
        "sub has no form for bool: bool [2, 3] and bool [2]");
  CHECK(message_of<ShapeError>([&] { (void)-truth; }) == "neg has no form for bool: bool [2, 3]");
  CHECK_THROWS_AS(relu(truth), ShapeError);
}

TEST_CASE("devices do not mix") {
  const Host host;
  const Host other;
  CHECK(contains(
      message_of<ShapeError>([&] { (void)(of(host, DType::f32) + of(other, DType::f32)); }),
      "add: one tensor is on host, another on host of another runtime"));
}

TEST_CASE("integers are compared with numbers that their type cannot hold as they are") {
  const Host host;
  constexpr std::int64_t kNumbers[] = {
      -(std::int64_t{1} << 40), -2147483649, -1,       0, 44, 255, 256, 300, 2147483648,
      std::int64_t{1} << 40,    INT64_MAX,   INT64_MIN};
  for (const DType type : {DType::u8, DType::i32, DType::i64}) {
    const std::vector<std::int64_t> values{0, 44, 255};
    const Tensor x = from_host<std::int64_t>(values, {3}, host.device, type);
    const Tensor constant = full({3}, 44, host.device, type);
    for (const std::int64_t n : kNumbers) {
      INFO(to_string(type) << " and " << n);
      const auto check = [&](const Tensor& result, auto&& compares) {
        const std::vector<bool> got = result.to_host<bool>();
        for (std::size_t i = 0; i < 3; ++i) CHECK(got[i] == compares(values[i], n));
      };
      check(equal(x, n), std::equal_to<>());
      check(not_equal(x, n), std::not_equal_to<>());
      check(less(x, n), std::less<>());
      check(less_equal(x, n), std::less_equal<>());
      check(greater(x, n), std::greater<>());
      check(greater_equal(x, n), std::greater_equal<>());
      CHECK(less(constant, n).to_host<bool>()[1] == (44 < n));
    }
  }
}

TEST_CASE("bounds that a type of integers cannot hold are its ends") {
  const Host host;
  using U = std::vector<std::uint8_t>;
  const Tensor x = from_host<std::uint8_t>(U{0, 44, 255}, {3}, host.device);
  CHECK(clamp(x, 0, 300).to_host<std::uint8_t>() == U{0, 44, 255});
  CHECK(clamp(x, -300, 100).to_host<std::uint8_t>() == U{0, 44, 100});
  CHECK(clamp(x, 300, 400).to_host<std::uint8_t>() == U{255, 255, 255});
  CHECK(minimum(x, 300).to_host<std::uint8_t>() == U{0, 44, 255});
  CHECK(minimum(x, -1).to_host<std::uint8_t>() == U{0, 0, 0});
  CHECK(maximum(x, 300).to_host<std::uint8_t>() == U{255, 255, 255});
  CHECK(maximum(x, -1).to_host<std::uint8_t>() == U{0, 44, 255});
  const std::vector<std::int32_t> ends{INT32_MIN, 0, INT32_MAX};
  const Tensor wide = host.i32(ends);
  CHECK(clamp(wide, std::int64_t{INT32_MIN} - 1, std::int64_t{INT32_MAX} + 1)
            .to_host<std::int32_t>() == ends);
  CHECK(maximum(wide, INT64_MIN).to_host<std::int32_t>() == ends);
  CHECK(minimum(wide, INT64_MAX).to_host<std::int32_t>() == ends);
  CHECK(minimum(wide.to(DType::i64), INT64_MAX).dtype() == DType::i64);
  // Arithmetic wraps as before.
  CHECK((x + 300).to_host<std::uint8_t>() == U{44, 88, 43});
}

TEST_CASE("a number that i64 does not hold is refused") {
  const Host host;
  const std::uint64_t most = std::uint64_t{1} << 63;
  CHECK(message_of<ShapeError>([&] { (void)(of(host, DType::i64) + most); }) ==
        "the number 9223372036854775808 does not fit into i64");
  CHECK((of(host, DType::i64) + (most - 1) - INT64_MAX).to_host<std::int64_t>()[0] == 1);
  static_assert(noexcept(Scalar(std::int64_t{1}))&& noexcept(Scalar(1U))&& noexcept(Scalar(1.0)));
}

TEST_CASE("a number of the condition's other side") {
  const Host host;
  const Tensor condition = host.i32({1, 0, 2});
  const Tensor x = host.i32({10, 20, 30});
  using I = std::vector<std::int32_t>;
  CHECK(where(condition, x, -1).to_host<std::int32_t>() == I{10, -1, 30});
  CHECK(where(condition, -1, x).to_host<std::int32_t>() == I{-1, 20, -1});
  CHECK(where(condition, x, 0.5).to_host<float>() == std::vector<float>{10, 0.5F, 30});
  CHECK(where(condition, 0.5, x.to(DType::f16)).dtype() == DType::f16);
  CHECK(where(condition.reshape({3, 1}), x, true).shape() == Dims{3, 3});
}

TEST_CASE("operands that do not broadcast are named as they were given") {
  const Host host;
  const Tensor column = of(host, DType::f32, {2, 1});
  const Tensor row = of(host, DType::f32, {1, 3});
  const Tensor odd = of(host, DType::i32, {4});
  const auto message = [](auto&& call) { return message_of<ShapeError>([&] { (void)call(); }); };
  CHECK(message([&] { return fma(column, row, odd); }) ==
        "fma: shapes do not broadcast: f32 [2, 1] and f32 [1, 3] and i32 [4]");
  CHECK(message([&] { return clamp(column, row, odd); }) ==
        "clamp: shapes do not broadcast: f32 [2, 1] and f32 [1, 3] and i32 [4]");
  CHECK(message([&] { return where(odd, row, column); }) ==
        "where: shapes do not broadcast: i32 [4] and f32 [1, 3] and f32 [2, 1]");
  CHECK(message([&] { return row + odd; }) ==
        "add: shapes do not broadcast: f32 [1, 3] and i32 [4]");
}
