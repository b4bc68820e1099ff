#include "compute/apply.hpp"

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
      "add: one tensor is on"));
}
