#include "forebay/compute/in_place.hpp"

#include <functional>

#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

using Unary = std::pair<Tensor (*)(Tensor), void (*)(const Tensor&)>;
using Binary = std::pair<Tensor (*)(Tensor, Tensor), void (*)(const Tensor&, const Tensor&)>;
using WithScalar = std::pair<Tensor (*)(Tensor, Scalar), void (*)(const Tensor&, Scalar)>;

// What `in_place` leaves in a tensor of `values`, which stays where it is and costs one launch.
template <typename T>
std::vector<T> written(const Host& host, const std::vector<T>& values,
                       const std::function<void(const Tensor&)>& in_place) {
  const Tensor target =
      from_host<T>(values, {static_cast<std::int64_t>(values.size())}, host.device);
  const void* const address = target.data();
  const std::uint64_t launches = host.launches();
  in_place(target);
  CHECK(host.launches() - launches <= 1);
  CHECK(target.data() == address);
  return target.to_host<T>();
}

const std::vector<float> kReals{0.25F, 0.5F, 0.75F, 0.125F, 0.9F};
const std::vector<float> kOthers{0.5F, 0.25F, 2, 3, 0.7F};
const std::vector<std::int32_t> kIntegers{7, -7, 0, 12, -1};
const std::vector<std::int32_t> kDivisors{2, 2, 5, -5, 3};

}  // namespace

TEST_CASE("functions of one operand write what they give") {
  const Host host;
  const Unary functions[] = {
      {&forebay::operator-, &neg_},
      {&abs, &abs_},
      {&sign, &sign_},
      {&relu, &relu_},
      {&floor, &floor_},
      {&ceil, &ceil_},
      {&round, &round_},
      {&trunc, &trunc_},
      {&exp, &exp_},
      {&exp2, &exp2_},
      {&expm1, &expm1_},
      {&log, &log_},
      {&log2, &log2_},
      {&log10, &log10_},
      {&log1p, &log1p_},
      {&sqrt, &sqrt_},
      {&rsqrt, &rsqrt_},
      {&sin, &sin_},
      {&cos, &cos_},
      {&tan, &tan_},
      {&asin, &asin_},
      {&acos, &acos_},
      {&atan, &atan_},
      {&sinh, &sinh_},
      {&cosh, &cosh_},
      {&tanh, &tanh_},
      {&erf, &erf_},
      {&gelu, &gelu_},
      {&silu, &silu_},
      {&softplus, &softplus_},
      {&sigmoid, &sigmoid_},
  };
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    INFO("function " << i);
    const auto& [function, in_place] = functions[i];
    CHECK(written<float>(host, kReals, in_place) == function(host.f32(kReals)).to_host<float>());
  }
  CHECK(written<std::int32_t>(host, kIntegers, &bitwise_not_) ==
        (~host.i32(kIntegers)).to_host<std::int32_t>());
  CHECK(written<std::int32_t>(host, kIntegers, &logical_not_) ==
        std::vector<std::int32_t>{0, 0, 1, 0, 0});
}

TEST_CASE("functions of two operands write what they give") {
  const Host host;
  const Binary functions[] = {
      {&forebay::operator+, &add_},
      {&forebay::operator-, &sub_},
      {&forebay::operator*, &mul_},
      {&forebay::operator/, &div_},
      {&floor_divide, &floor_divide_},
      {&remainder, &remainder_},
      {&pow, &pow_},
      {&minimum, &minimum_},
      {&maximum, &maximum_},
      {&atan2, &atan2_},
      {&equal, &equal_},
      {&not_equal, &not_equal_},
      {&less, &less_},
      {&less_equal, &less_equal_},
      {&greater, &greater_},
      {&greater_equal, &greater_equal_},
  };
  const Tensor others = host.f32(kOthers);
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    INFO("function " << i);
    const auto& [function, in_place] = functions[i];
    CHECK(written<float>(host, kReals, [&](const Tensor& t) { in_place(t, others); }) ==
          function(host.f32(kReals), others).to(DType::f32).to_host<float>());
  }
  const WithScalar with_scalar[] = {
      {&forebay::operator+, &add_},
      {&forebay::operator-, &sub_},
      {&forebay::operator*, &mul_},
      {&forebay::operator/, &div_},
      {&floor_divide, &floor_divide_},
      {&remainder, &remainder_},
      {&pow, &pow_},
      {&minimum, &minimum_},
      {&maximum, &maximum_},
      {&equal, &equal_},
      {&not_equal, &not_equal_},
      {&less, &less_},
      {&less_equal, &less_equal_},
      {&greater, &greater_},
      {&greater_equal, &greater_equal_},
  };
  for (std::size_t i = 0; i < std::size(with_scalar); ++i) {
    INFO("function " << i);
    const auto& [function, in_place] = with_scalar[i];
    CHECK(written<float>(host, kReals, [&](const Tensor& t) { in_place(t, 0.5); }) ==
          function(host.f32(kReals), 0.5).to(DType::f32).to_host<float>());
  }
}

TEST_CASE("integers in place follow Python's division and stay integers") {
  const Host host;
  const Binary functions[] = {
      {&floor_divide, &floor_divide_},      {&remainder, &remainder_},
      {&forebay::operator&, &bitwise_and_}, {&forebay::operator|, &bitwise_or_},
      {&forebay::operator^, &bitwise_xor_},
  };
  const Tensor divisors = host.i32(kDivisors);
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    INFO("function " << i);
    const auto& [function, in_place] = functions[i];
    CHECK(written<std::int32_t>(host, kIntegers, [&](const Tensor& t) { in_place(t, divisors); }) ==
          function(host.i32(kIntegers), divisors).to_host<std::int32_t>());
    CHECK(written<std::int32_t>(host, kIntegers, [&](const Tensor& t) {
            in_place(t, host.i32({3}));
          }) == function(host.i32(kIntegers), host.i32({3})).to_host<std::int32_t>());
  }
  using Logic = std::pair<void (*)(const Tensor&, const Tensor&), std::vector<std::int32_t>>;
  const Tensor flags = host.i32({1, 0, 0, 5, 0});
  for (const auto& [in_place, expected] :
       {Logic{&logical_and_, {1, 0, 0, 1, 0}}, Logic{&logical_or_, {1, 1, 0, 1, 1}},
        Logic{&logical_xor_, {0, 1, 0, 0, 1}}}) {
    CHECK(written<std::int32_t>(host, kIntegers,
                                [&, f = in_place](const Tensor& t) { f(t, flags); }) == expected);
  }
  CHECK(written<std::int32_t>(host, kIntegers, [](const Tensor& t) { bitwise_and_(t, 6); }) ==
        std::vector<std::int32_t>{6, 0, 0, 4, 6});
}

TEST_CASE("comparisons leave 1 and 0 in the target's type") {
  const Host host;
  using I = std::vector<std::int32_t>;
  CHECK(written<std::int32_t>(host, kIntegers, [](const Tensor& t) { less_(t, 7); }) ==
        I{0, 1, 1, 0, 1});
  CHECK(written<std::int32_t>(host, kIntegers, [](const Tensor& t) { less_(t, 7.5); }) ==
        I{1, 1, 1, 0, 1});
  CHECK(written<std::uint8_t>(host, {0, 44, 255}, [](const Tensor& t) {
          greater_equal_(t, 300);
        }) == std::vector<std::uint8_t>{0, 0, 0});
  CHECK(written<float>(host, {1, kNan, 3}, [](const Tensor& t) { not_equal_(t, t); }) ==
        std::vector<float>{0, 1, 0});
  CHECK_THROWS_AS(equal_(host.i32({1, 2}), host.i32({1, 2, 3})), ShapeError);
}

TEST_CASE("three operands, masks, numbers and copies in place") {
  const Host host;
  const Tensor b = host.f32(kOthers);
  CHECK(written<float>(host, kReals, [&](const Tensor& t) { fma_(t, b, b); }) ==
        fma(host.f32(kReals), b, b).to_host<float>());
  CHECK(written<float>(host, kReals, [](const Tensor& t) { clamp_(t, 0.3, 0.6); }) ==
        std::vector<float>{0.3F, 0.5F, 0.6F, 0.3F, 0.6F});
  CHECK(written<float>(host, kReals, [&](const Tensor& t) { clamp_(t, host.f32({0.3F}), b); }) ==
        clamp(host.f32(kReals), host.f32({0.3F}), b).to_host<float>());
  CHECK(written<float>(host, kReals, [&](const Tensor& t) {
          masked_fill_(t, host.i32({0, 1, 0, 2, 0}), -1);
        }) == std::vector<float>{0.25F, -1, 0.75F, -1, 0.9F});
  CHECK(written<float>(host, kReals, [](const Tensor& t) { fill_(t, 3); }) ==
        std::vector<float>{3, 3, 3, 3, 3});
  CHECK(written<float>(host, kReals, [&](const Tensor& t) { copy_(t, host.i32({7})); }) ==
        std::vector<float>{7, 7, 7, 7, 7});
  CHECK(written<float>(host, kReals, [](const Tensor& t) { uniform_(t, 42); }) ==
        random_uniform({5}, 42, host.device).to_host<float>());
  CHECK(written<float>(host, kReals, [](const Tensor& t) { normal_(t, 42); }) ==
        random_normal({5}, 42, host.device).to_host<float>());
  const Tensor narrow = zeros({5}, host.device, DType::bf16);
  uniform_(narrow, 42);
  CHECK(narrow.to(DType::f32).to_host<float>() ==
        random_uniform({5}, 42, host.device, DType::bf16).to(DType::f32).to_host<float>());
}

TEST_CASE("what does not fit into the target is refused, and the target stays") {
  const Host host;
  const Tensor whole = host.i32({1, 2});
  CHECK(message_of<ShapeError>([&] { add_(whole, 0.5); }) ==
        "add_: a result of f32 does not fit into i32 [2]");
  CHECK(message_of<ShapeError>([&] { exp_(whole); }) ==
        "exp_: a result of f32 does not fit into i32 [2]");
  CHECK_THROWS_AS(uniform_(whole, 1), ShapeError);
  CHECK_THROWS_AS(add_(whole, host.i32({1, 2, 3})), ShapeError);
  CHECK(message_of<ShapeError>([&] {
          mul_(whole, host.i32({1, 2, 3, 4}, {2, 2}));
        }) == "mul_: a value of i32 [2, 2] on host does not fit into i32 [2] on host");
  CHECK(message_of<ShapeError>([&] {
          masked_fill_(whole, host.i32({1, 0, 1}), 3);
        }) == "masked_fill_: a mask of shape [3] does not broadcast to [2]");
  CHECK(message_of<ShapeError>([&] {
          copy_(whole, host.i32({1, 0, 1}));
        }) == "copy_: a value of shape [3] does not broadcast to [2]");
  const Tensor twice = whole.broadcast_to({3, 2});
  for (const auto& [name, write] : std::vector<std::pair<const char*, std::function<void()>>>{
           {"fill_", [&] { fill_(twice, 3); }},
           {"masked_fill_", [&] { masked_fill_(twice, host.i32({1}), 3); }},
           {"copy_", [&] { copy_(twice, whole); }},
           {"neg_", [&] { neg_(twice); }}}) {
    CHECK(message_of<ShapeError>(write) ==
          std::string(name) +
              ": elements of the target i32 [3, 2] on host may share memory, as it "
              "is a view with strides [0, 1]");
  }
  CHECK_THROWS_AS(bitwise_not_(host.f32({1})), ShapeError);
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{1, 2});
  add_(whole, 41);
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{42, 43});
}

TEST_CASE("every function writes through a view with strides what it writes to a whole tensor") {
  const Host host;
  const Tensor b = host.f32(kOthers);
  const std::function<void(const Tensor&)> functions[] = {
      &exp_,
      &neg_,
      &sqrt_,
      &logical_not_,
      [&](const Tensor& t) { add_(t, b); },
      [&](const Tensor& t) { mul_(t, 3); },
      [&](const Tensor& t) { fma_(t, b, b); },
      [&](const Tensor& t) { clamp_(t, 0.3, 0.6); },
      [&](const Tensor& t) { masked_fill_(t, greater(b, 1), -1); },
      [&](const Tensor& t) { fill_(t, 3); },
      [&](const Tensor& t) { copy_(t, host.i32({7})); },
      [&](const Tensor& t) { uniform_(t, 42); },
      [&](const Tensor& t) { normal_(t, 42); },
  };
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    INFO("function " << i);
    const Tensor whole = full({5, 2}, 0.0F, host.device).eval();
    const Tensor column = whole.transpose();  // [2, 5]
    const Tensor target = narrow(column, 0, 1, 1).transpose();
    copy_(target, host.f32(kReals, {5, 1}));
    functions[i](narrow(column, 0, 1, 1));
    CHECK(target.to_host<float>() == written<float>(host, kReals, functions[i]));
    CHECK(narrow(column, 0, 0, 1).to_host<float>() == std::vector<float>(5, 0));
  }
  const Tensor whole = host.i32({1, 2, 3, 4}, {2, 2});
  CHECK(message_of<ShapeError>([&] { exp_(whole.transpose()); }) ==
        "exp_: a result of f32 does not fit into i32 [2, 2]");
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{1, 2, 3, 4});
}

TEST_CASE("a result of another type is stored in the target's alone") {
  const Host host;
  const Tensor narrow = from_host<float>(std::vector<float>{1, 2, 3}, {3}, host.device, DType::f16);
  const Tensor update = host.f32({0.25F, 0.5F, 1});
  narrow.eval();
  const auto taken = [&] { return host.device.pool().stats().allocations.total; };
  const std::uint64_t before = taken();
  add_(narrow, update);
  logical_and_(update, narrow);
  CHECK(taken() == before);
  CHECK(narrow.to(DType::f32).to_host<float>() == std::vector<float>{1.25F, 2.5F, 4});
  CHECK(update.to_host<float>() == std::vector<float>{1, 1, 1});
}

TEST_CASE("numbers that fill are cast, and bits are set by numbers") {
  const Host host;
  const Tensor whole = host.i32({1, 2, 4});
  bitwise_or_(whole, 1);
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{1, 3, 5});
  bitwise_xor_(whole, 7);
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{6, 4, 2});
  masked_fill_(whole, host.i32({0, 1, 0}), 2.5);
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{6, 2, 2});
  fill_(whole, -2.5);
  CHECK(whole.to_host<std::int32_t>() == std::vector<std::int32_t>{-2, -2, -2});
}
