#include "forebay/compute/math.hpp"

#include <functional>
#include <random>

#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/compute/reference.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

constexpr double kInf64 = std::numeric_limits<double>::infinity();
constexpr double kNan64 = std::numeric_limits<double>::quiet_NaN();

/// The distance from `exact` in units of the last place that a result of `digits` bits has there.
long double units(long double result, long double exact, int digits, int least) {
  if (!std::isfinite(exact) || !std::isfinite(result)) {
    return result == exact || (std::isnan(result) && std::isnan(exact)) ? 0 : 1e9L;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(result - exact) / std::ldexp(1.0L, std::max(exponent - digits, least));
}

struct Function {
  const char* name;
  Tensor (*tensor)(Tensor);
  long double (*exact)(long double);
  double low, high;  ///< where it is tried
  double f64, f32;   ///< units that docs/tensors.md states
};

long double phi(long double x) {
  return 0.5L * x * erfcl(-x * 0.70710678118654752440084436210485L);
}

// Points everywhere in the range, small ones among them.
std::vector<double> points(double low, double high) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> between(low, high);
  std::uniform_real_distribution<double> shrink(0, 30);
  std::vector<double> all;
  for (int i = 0; i < 20'000; ++i) {
    double x = between(random);
    if (i % 3 == 0 && low <= 0) x *= std::exp(-shrink(random));
    all.push_back(x);
  }
  return all;
}

template <typename T>
std::vector<T> result_of(const Host& host, const Function& function, const std::vector<T>& at) {
  const auto n = static_cast<std::int64_t>(at.size());
  return function.tensor(from_host<T>(at, {n}, host.device)).template to_host<T>();
}

}  // namespace

TEST_CASE("functions are as exact as their page says") {
  const Host host;
  const Function functions[] = {
      {"exp", &exp, [](long double x) { return expl(x); }, -700, 705, 1, 1},
      {"exp of f32's range", &exp, [](long double x) { return expl(x); }, -87, 88, 1, 1},
      {"exp2", &exp2, [](long double x) { return exp2l(x); }, -120, 120, 1, 1},
      {"expm1", &expm1, [](long double x) { return expm1l(x); }, -50, 80, 2, 1},
      {"log", &log, [](long double x) { return logl(x); }, 1e-30, 3, 1, 1},
      {"log of large", &log, [](long double x) { return logl(x); }, 1, 1e30, 1, 1},
      {"log2", &log2, [](long double x) { return log2l(x); }, 1e-30, 3, 2, 1},
      {"log10", &log10, [](long double x) { return log10l(x); }, 1e-30, 3, 2, 1},
      {"log1p", &log1p, [](long double x) { return log1pl(x); }, -0.999, 5, 1, 1},
      {"sqrt", &sqrt, [](long double x) { return sqrtl(x); }, 0, 1e20, 0.5, 0.5},
      {"rsqrt", &rsqrt, [](long double x) { return 1 / sqrtl(x); }, 1e-30, 10, 1.5, 1.5},
      {"sin", &sin, [](long double x) { return sinl(x); }, -50, 50, 2.5, 1},
      {"sin of large", &sin, [](long double x) { return sinl(x); }, -2e9, 2e9, 2.5, 1},
      {"cos", &cos, [](long double x) { return cosl(x); }, -50, 50, 2.5, 1},
      {"cos of large", &cos, [](long double x) { return cosl(x); }, -2e9, 2e9, 2.5, 1},
      {"tan", &tan, [](long double x) { return tanl(x); }, -50, 50, 4, 1},
      {"asin", &asin, [](long double x) { return asinl(x); }, -1, 1, 2.5, 1},
      {"acos", &acos, [](long double x) { return acosl(x); }, -1, 1, 1.5, 1},
      {"atan", &atan, [](long double x) { return atanl(x); }, -10, 10, 2.5, 1},
      {"sinh", &sinh, [](long double x) { return sinhl(x); }, -80, 80, 2.5, 1},
      {"cosh", &cosh, [](long double x) { return coshl(x); }, -80, 80, 1.5, 1},
      {"tanh", &tanh, [](long double x) { return tanhl(x); }, -10, 10, 3, 1.5},
      {"erf", &erf, [](long double x) { return erfl(x); }, -7, 7, 1.5, 1},
      {"gelu", &gelu, &phi, -12, 12, 5, 1},
      {"gelu down to nothing", &gelu, &phi, -39.5, -12, 5, 1},
      {"silu", &silu, [](long double x) { return x / (1 + expl(-x)); }, -80, 80, 3, 3.5},
      {"silu down to nothing in f32", &silu, [](long double x) { return x / (1 + expl(-x)); }, -115,
       -80, 3, 3.5},
      {"silu down to nothing", &silu, [](long double x) { return x / (1 + expl(-x)); }, -760, -690,
       3, 3.5},
      {"exp down to nothing in f32", &exp, [](long double x) { return expl(x); }, -125, -80, 1, 1},
      {"exp down to nothing", &exp, [](long double x) { return expl(x); }, -810, -690, 1, 1},
      {"softplus", &softplus, [](long double x) { return log1pl(expl(x)); }, -80, 80, 2, 1},
      {"sigmoid", &sigmoid, [](long double x) { return 1 / (1 + expl(-x)); }, -80, 80, 2.5, 2.5},
  };
  for (const Function& function : functions) {
    const std::vector<double> at = points(function.low, function.high);
    const auto results = result_of(host, function, at);
    const std::vector<float> narrow(at.begin(), at.end());
    const auto narrow_results = result_of(host, function, narrow);
    for (std::size_t i = 0; i < at.size(); ++i) {
      INFO(function.name << " at " << at[i]);
      REQUIRE(units(results[i], function.exact(at[i]), 53, -1074) <= function.f64);
      const long double exact = function.exact(narrow[i]);
      if (std::fabs(exact) > std::numeric_limits<float>::max()) continue;
      INFO("in f32");
      REQUIRE(units(narrow_results[i], exact, 24, -149) <= function.f32);
    }
  }
}

TEST_CASE("sines, cosines and tangents are as exact for angles of any size") {
  const Host host;
  const Function functions[] = {
      {"sin", &sin, [](long double x) { return sinl(x); }, 0, 0, 2.5, 1},
      {"cos", &cos, [](long double x) { return cosl(x); }, 0, 0, 2.5, 1},
      {"tan", &tan, [](long double x) { return tanl(x); }, 0, 0, 4, 1},
  };
  std::mt19937_64 random(3);
  // The seventh is the number whose cosine is the nearest to 0 of all.
  std::vector<double> at = {
      2147483648.0, -2147483648.0, 2147483649.0,           4294967296.0,
      1e10,         -1e22,         5.319372648326541e+255, std::numeric_limits<double>::max(),
      0x1p1023};
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(1 + std::uniform_real_distribution<double>(0, 1)(random),
                                static_cast<int>(28 + random() % 996));
    at.push_back(i % 2 == 0 ? x : -x);
  }
  std::vector<float> narrow;
  for (int i = 0; i < 100'000; ++i) {
    narrow.push_back(std::ldexp(1 + std::uniform_real_distribution<float>(0, 1)(random),
                                static_cast<int>(28 + random() % 100)));
  }
  for (const Function& function : functions) {
    const auto results = result_of(host, function, at);
    for (std::size_t i = 0; i < at.size(); ++i) {
      INFO(function.name << " at " << at[i]);
      REQUIRE(units(results[i], function.exact(at[i]), 53, -1074) <= function.f64);
    }
    const auto narrow_results = result_of(host, function, narrow);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      INFO(function.name << " in f32 at " << narrow[i]);
      REQUIRE(units(narrow_results[i], function.exact(narrow[i]), 24, -149) <= function.f32);
    }
    INFO("what is beside such angles has the same bits");
    std::vector<double> near = points(-100, 100);
    near.push_back(kNan64);
    const auto alone = result_of(host, function, near);
    near.push_back(1e200);
    near.push_back(-kInf64);
    auto beside = result_of(host, function, near);
    CHECK(std::isnan(beside.back()));
    beside.resize(alone.size());
    CHECK(same(alone, beside));
  }
}

TEST_CASE("powers and angles are as exact as their page says") {
  const Host host;
  std::mt19937_64 random(5);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 50'000; ++i) {
    a.push_back(std::exp(std::uniform_real_distribution<double>(-300, 300)(random) /
                         (i % 2 == 0 ? 1 : 60)));
    b.push_back(std::uniform_real_distribution<double>(-700, 700)(random) /
                std::max(1.0, std::abs(std::log(a.back()))));
  }
  const auto n = static_cast<std::int64_t>(a.size());
  const auto powers =
      pow(from_host<double>(a, {n}, host.device), from_host<double>(b, {n}, host.device))
          .to_host<double>();
  const auto angles =
      atan2(from_host<double>(b, {n}, host.device), from_host<double>(a, {n}, host.device))
          .to_host<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i] << " and " << b[i]);
    REQUIRE(units(powers[i], powl(a[i], b[i]), 53, -1074) <= 1.5);
    REQUIRE(units(angles[i], atan2l(b[i], a[i]), 53, -1074) <= 3);
  }
}

TEST_CASE("edges of functions are those of the C library") {
  const Host host;
  const std::vector<double> edges{0.0,    -0.0,  1.0,    -1.0,    0.5,    -0.5,
                                  2.0,    -2.0,  3.0,    -3.0,    kInf64, -kInf64,
                                  kNan64, 1e308, 5e-324, -5e-324, 1e20,   -1e20};
  const auto n = static_cast<std::int64_t>(edges.size());
  const Tensor x = from_host<double>(edges, {n}, host.device);
  const auto close = [](double got, double want) {
    return same(got, want) || std::abs(got - want) <= 1e-15 * std::abs(want);
  };
  struct Edge {
    const char* name;
    Tensor (*tensor)(Tensor);
    double (*want)(double);
  };
  const Edge list[] = {
      {"exp", &exp, [](double v) { return std::exp(v); }},
      {"exp2", &exp2, [](double v) { return std::exp2(v); }},
      {"expm1", &expm1, [](double v) { return std::expm1(v); }},
      {"log", &log, [](double v) { return std::log(v); }},
      {"log2", &log2, [](double v) { return std::log2(v); }},
      {"log10", &log10, [](double v) { return std::log10(v); }},
      {"log1p", &log1p, [](double v) { return std::log1p(v); }},
      {"asin", &asin, [](double v) { return std::asin(v); }},
      {"acos", &acos, [](double v) { return std::acos(v); }},
      {"atan", &atan, [](double v) { return std::atan(v); }},
      {"sinh", &sinh, [](double v) { return std::sinh(v); }},
      {"cosh", &cosh, [](double v) { return std::cosh(v); }},
      {"tanh", &tanh, [](double v) { return std::tanh(v); }},
      {"erf", &erf, [](double v) { return std::erf(v); }},
      {"floor", &floor, [](double v) { return std::floor(v); }},
      {"ceil", &ceil, [](double v) { return std::ceil(v); }},
      {"trunc", &trunc, [](double v) { return std::trunc(v); }},
      {"round", &round, [](double v) { return std::nearbyint(v); }},
  };
  for (const Edge& edge : list) {
    const auto got = edge.tensor(x).to_host<double>();
    for (std::size_t i = 0; i < edges.size(); ++i) {
      INFO(edge.name << " of " << edges[i]);
      CHECK(close(got[i], edge.want(edges[i])));
    }
  }
  const auto powers = pow(x.reshape({n, 1}), x).to_host<double>();
  const auto angles = atan2(x.reshape({n, 1}), x).to_host<double>();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = 0; j < edges.size(); ++j) {
      const std::size_t at = i * edges.size() + j;
      INFO(edges[i] << " and " << edges[j]);
      CHECK(close(powers[at], std::pow(edges[i], edges[j])));
      CHECK(close(angles[at], std::atan2(edges[i], edges[j])));
    }
  }
  // The limits of the others.
  const Tensor ends =
      from_host<double>(std::vector<double>{-kInf64, kInf64, kNan64}, {3}, host.device);
  CHECK(same(sigmoid(ends).to_host<double>(), std::vector<double>{0, 1, kNan64}));
  CHECK(same(silu(ends).to_host<double>(), std::vector<double>{-0.0, kInf64, kNan64}));
  CHECK(same(gelu(ends).to_host<double>(), std::vector<double>{-0.0, kInf64, kNan64}));
  CHECK(same(softplus(ends).to_host<double>(), std::vector<double>{0, kInf64, kNan64}));
}

TEST_CASE("odd functions and those that round keep the sign of zero, in every real type") {
  const Host host;
  Tensor (*const keep[])(Tensor) = {&sin,   &tan,  &asin,  &atan,  &sinh,  &tanh,
                                    &erf,   &gelu, &silu,  &expm1, &log1p, &sqrt,
                                    &floor, &ceil, &round, &trunc, &sign};
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Tensor zeros_of_both = host.f32({-0.0F, 0.0F}).to(type).eval();
    for (std::size_t i = 0; i < std::size(keep); ++i) {
      INFO(i << " of " << to_string(type));
      CHECK(same(keep[i](zeros_of_both).to(DType::f64).to_host<double>(),
                 std::vector<double>{-0.0, 0.0}));
    }
  }
}

TEST_CASE("halves round to the even neighbour") {
  const Host host;
  CHECK(round(host.f32({0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 8388609.0F})).to_host<float>() ==
        std::vector<float>{0, 2, 2, 0, -2, 8388609.0F});
  CHECK(floor(host.i32({-7})).to_host<std::int32_t>() == std::vector<std::int32_t>{-7});
  CHECK_THROWS_AS(floor(full({1}, true, host.device)), ShapeError);
}

TEST_CASE("integers divide by Python's rule, and nothing traps") {
  const Host host;
  using Int = std::int32_t;
  constexpr Int kMin = std::numeric_limits<Int>::min();
  constexpr Int kMax = std::numeric_limits<Int>::max();
  const std::vector<Int> values{0, 1, -1, 2, -2, 3, -3, 7, -7, kMax, kMin, kMin + 1};
  const auto n = static_cast<std::int64_t>(values.size());
  const Tensor a = host.i32(values).reshape({n, 1});
  const Tensor b = host.i32(values);
  const auto quotients = floor_divide(a, b).to_host<Int>();
  const auto rests = remainder(a, b).to_host<Int>();
  const auto wide_quotients =
      floor_divide(a.to(DType::i64), b.to(DType::i64)).to_host<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const std::int64_t x = values[i];
      const std::int64_t y = values[j];
      const std::size_t at = i * values.size() + j;
      INFO(x << " over " << y);
      if (y == 0) {
        CHECK(quotients[at] == 0);
        CHECK(rests[at] == 0);
        continue;
      }
      const auto down = static_cast<std::int64_t>(
          std::floor(static_cast<long double>(x) / static_cast<long double>(y)));
      CHECK(quotients[at] == static_cast<Int>(static_cast<std::uint32_t>(down)));
      CHECK(rests[at] == x - down * y);
      CHECK(wide_quotients[at] == down);
    }
  }
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK(floor_divide(full({1}, least, host.device).eval(), -1).item<std::int64_t>() == least);
  CHECK(remainder(full({1}, least, host.device).eval(), -1).item<std::int64_t>() == 0);
  CHECK(floor_divide(full({1}, std::uint8_t{250}, host.device).eval(), 7).item<std::int32_t>() ==
        35);
}

TEST_CASE("numbers are divided by tensors") {
  const Host host;
  using I = std::vector<std::int32_t>;
  const Tensor divisors = host.i32({2, -2, 0, 3});
  CHECK(floor_divide(7, divisors).to_host<std::int32_t>() == I{3, -4, 0, 2});
  CHECK(remainder(7, divisors).to_host<std::int32_t>() == I{1, -1, 0, 1});
  CHECK(floor_divide(-7.5, host.f32({2})).item() == -4);
  CHECK(remainder(-7.5, host.f32({2})).item() == 0.5F);
  CHECK(remainder(7.5, divisors).dtype() == DType::f32);
}

TEST_CASE("reals divide by Python's rule") {
  const Host host;
  const auto check = [&](double a, double b, double quotient, double rest) {
    INFO(a << " over " << b);
    const Tensor x = full({1}, a, host.device).eval();
    const Tensor y = full({1}, b, host.device).eval();
    CHECK(same(floor_divide(x, y).item<double>(), quotient));
    CHECK(same(remainder(x, y).item<double>(), rest));
  };
  check(7, 2, 3, 1);
  check(-7, 2, -4, 1);
  check(7, -2, -4, -1);
  check(-7, -2, 3, -1);
  check(6, -2, -3, -0.0);
  check(1, 0.1, 9, 0.09999999999999995);
  check(-1, 3, -1, 2);
  check(0.0, -3, -0.0, -0.0);
  check(5, kInf64, 0, 5);
  check(-5, kInf64, -1, kInf64);
  check(1, 0, kInf64, kNan64);
  check(0, 0, kNan64, kNan64);
}

TEST_CASE("integer powers wrap") {
  const Host host;
  const Tensor bases =
      from_host<std::int64_t>(std::vector<std::int64_t>{0, 1, -1, 2, -3, 10}, {6}, host.device);
  const auto power = [&](std::int64_t exponent) {
    return pow(bases, exponent).to_host<std::int64_t>();
  };
  using V = std::vector<std::int64_t>;
  CHECK(power(0) == V{1, 1, 1, 1, 1, 1});
  CHECK(power(3) == V{0, 1, -1, 8, -27, 1000});
  CHECK(power(-1) == V{0, 1, -1, 0, 0, 0});
  CHECK(power(-2) == V{0, 1, 1, 0, 0, 0});
  CHECK(power(64)[3] == 0);
  CHECK(power(63)[3] == std::numeric_limits<std::int64_t>::min());
  CHECK(pow(host.i32({2}), 0.5).dtype() == DType::f32);
  CHECK(pow(2, host.i32({10})).item<std::int32_t>() == 1024);
}

TEST_CASE("fma rounds once") {
  const Host host;
  const Tensor a = host.f32({1.0F + 0x1p-12F});
  CHECK(fma(a, a, host.f32({-1.0F - 0x1p-11F})).item() == 0x1p-24F);
  CHECK((a * a + host.f32({-1.0F - 0x1p-11F})).item() == 0);
  const Tensor d = full({1}, 1.0 + 0x1p-30, host.device).eval();
  CHECK(fma(d, d, full({1}, -1.0 - 0x1p-29, host.device).eval()).item<double>() == 0x1p-60);
  CHECK(fma(host.i32({3}), host.i32({5}), host.i32({-1})).item<std::int32_t>() == 14);
}

TEST_CASE("clamp keeps NaN, and its upper bound wins") {
  const Host host;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(same(clamp(host.f32({-3, 0.5F, 3, nan}), -1, 1).to_host<float>(),
             std::vector<float>{-1, 0.5F, 1, nan}));
  CHECK(clamp(host.f32({0}), 5, 2).item() == 2);
  CHECK(clamp(host.i32({-3, 300}), 0, 255).to_host<std::int32_t>() ==
        std::vector<std::int32_t>{0, 255});
  CHECK(clamp(host.i32({1}), 0.5, 0.75).dtype() == DType::f32);
  CHECK(clamp(host.f32({1, 2, 3}), host.f32({2}), host.f32({2.5F})).to_host<float>() ==
        std::vector<float>{2, 2, 2.5F});
}

TEST_CASE("comparisons give booleans and follow NaN") {
  const Host host;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = host.f32({1, 2, 3, nan, nan});
  const Tensor b = host.f32({2, 2, 2, 2, nan});
  using V = std::vector<bool>;
  CHECK(less(a, b).to_host<bool>() == V{true, false, false, false, false});
  CHECK(less_equal(a, b).to_host<bool>() == V{true, true, false, false, false});
  CHECK(greater(a, b).to_host<bool>() == V{false, false, true, false, false});
  CHECK(greater_equal(a, b).to_host<bool>() == V{false, true, true, false, false});
  CHECK(equal(a, b).to_host<bool>() == V{false, true, false, false, false});
  CHECK(not_equal(a, b).to_host<bool>() == V{true, false, true, true, true});
  CHECK(less(host.i32({1, 2}), 1.5).to_host<bool>() == V{true, false});
}

TEST_CASE("logic and bits") {
  const Host host;
  using V = std::vector<bool>;
  const Tensor a = host.i32({0, 0, 5, 6});
  const Tensor b = host.f32({0, 2, 0, std::numeric_limits<float>::quiet_NaN()});
  CHECK(logical_and(a, b).to_host<bool>() == V{false, false, false, true});
  CHECK(logical_or(a, b).to_host<bool>() == V{false, true, true, true});
  CHECK(logical_xor(a, b).to_host<bool>() == V{false, true, true, false});
  CHECK(logical_not(a).to_host<bool>() == V{true, true, false, false});
  using I = std::vector<std::int32_t>;
  CHECK((a & host.i32({3, 3, 3, 3})).to_host<std::int32_t>() == I{0, 0, 1, 2});
  CHECK((a | 8).to_host<std::int32_t>() == I{8, 8, 13, 14});
  CHECK((a ^ 5).to_host<std::int32_t>() == I{5, 5, 0, 3});
  CHECK((~a).to_host<std::int32_t>() == I{-1, -1, -6, -7});
  CHECK((~full({1}, std::uint8_t{1}, host.device)).item<std::int32_t>() == 254);
  CHECK(message_of<ShapeError>([&] { (void)(b & b); }) ==
        "operator& has no form for f32: f32 [4] and f32 [4]");
}

TEST_CASE("tests of numbers") {
  const Host host;
  using V = std::vector<bool>;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = from_host<double>(std::vector<double>{0, -1e30, kInf64, -kInf64, kNan64}, {5},
                                       host.device, type);
    const bool narrow = type == DType::f16;  // where -1e30 is infinite
    CHECK(isnan(x).to_host<bool>() == V{false, false, false, false, true});
    CHECK(isinf(x).to_host<bool>() == V{false, narrow, true, true, false});
    CHECK(isfinite(x).to_host<bool>() == V{true, !narrow, false, false, false});
  }
  CHECK(isnan(host.i32({1})).to_host<bool>() == V{false});
  CHECK(isfinite(host.i32({1})).to_host<bool>() == V{true});
}

TEST_CASE("halves overflow to infinity, keep subnormals, and are rounded after each operation") {
  const Host host;
  const auto f16 = [&](const std::vector<float>& values) {
    return from_host<float>(values, {static_cast<std::int64_t>(values.size())}, host.device,
                            DType::f16);
  };
  CHECK((f16({65504, 65504}) + f16({8, 16})).to(DType::f32).to_host<float>() ==
        std::vector<float>{65504, std::numeric_limits<float>::infinity()});
  CHECK((f16({6e-8F}) + f16({6e-8F})).item<float>() == 0x1p-23F);
  CHECK((f16({0x1p-14F}) * 0.5F).item<float>() == 0x1p-15F);
  // 2048 + 1 is no half: the one is lost twice, and added together it is not.
  CHECK(((f16({2048}) + 1.0F) + 1.0F).item<float>() == 2048);
  CHECK((f16({2048}) + (f16({1}) + 1.0F)).item<float>() == 2050);
}

TEST_CASE("what changes no value is a value of its own all the same") {
  const Host host;
  using Function = std::pair<const char*, Tensor (*)(const Tensor&)>;
  const Function functions[] = {
      {"floor", [](const Tensor& x) { return floor(x); }},
      {"ceil", [](const Tensor& x) { return ceil(x); }},
      {"round", [](const Tensor& x) { return round(x); }},
      {"trunc", [](const Tensor& x) { return trunc(x); }},
      {"abs", [](const Tensor& x) { return abs(x); }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"pow", [](const Tensor& x) { return pow(x, 1); }},
      {"clamp", [](const Tensor& x) { return clamp(x, 0, 100); }},
      {"minimum", [](const Tensor& x) { return minimum(x, x); }},
      {"maximum", [](const Tensor& x) { return maximum(x, x); }},
      {"add", [](const Tensor& x) { return x + 0; }},
      {"mul", [](const Tensor& x) { return x * 1; }},
      {"where", [](const Tensor& x) { return where(x, x, x); }},
      {"logical_and", [](const Tensor& x) { return logical_and(x, x); }},
      {"sum", [](const Tensor& x) { return x.sum(std::vector<int>{-1}); }},
      {"max", [](const Tensor& x) { return x.max(std::vector<int>{-1}, true); }},
      {"any", [](const Tensor& x) { return x.any(std::vector<int>{-1}); }},
      {"cat",
       [](const Tensor& x) {
         return cat({&x, 1}, 0);
       }},
      {"stack",
       [](const Tensor& x) {
         return stack({&x, 1}, 0);
       }},
      {"index_select",
       [](const Tensor& x) { return index_select(x, 1, arange(0, 1, 1, x.device(), DType::i64)); }},
  };
  for (const DType type : kAllTypes) {
    for (const auto& [name, function] : functions) {
      INFO(name << " of " << to_string(type));
      const Tensor x = host.f32({1, 2, 3}, {3, 1}).to(type).eval();
      Tensor result;
      try {
        result = function(x).eval();
      } catch (const ShapeError&) {
        CHECK(type == DType::boolean);
        continue;
      }
      const auto before = result.to(DType::f64).to_host<double>();
      fill_(x, 0);
      CHECK(result.to(DType::f64).to_host<double>() == before);
    }
  }
}
