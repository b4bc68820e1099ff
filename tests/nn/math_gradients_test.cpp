#include <cmath>

#include "forebay/compute/math.hpp"
#include "forebay/runtime/runtime.hpp"
#include "nn/gradients.hpp"
#include "tests/nn/gradient_cases.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

#define FOREBAY_REFERENCE(name, of_x)                       \
  Reference name(const Reference& a) {                      \
    return map(a, [](double x) -> double { return of_x; }); \
  }
FOREBAY_REFERENCE(exp2, std::exp2(x))
FOREBAY_REFERENCE(expm1, std::expm1(x))
FOREBAY_REFERENCE(log2, std::log2(x))
FOREBAY_REFERENCE(log10, std::log10(x))
FOREBAY_REFERENCE(log1p, std::log1p(x))
FOREBAY_REFERENCE(rsqrt, 1 / std::sqrt(x))
FOREBAY_REFERENCE(sin, std::sin(x))
FOREBAY_REFERENCE(cos, std::cos(x))
FOREBAY_REFERENCE(tan, std::tan(x))
FOREBAY_REFERENCE(asin, std::asin(x))
FOREBAY_REFERENCE(acos, std::acos(x))
FOREBAY_REFERENCE(atan, std::atan(x))
FOREBAY_REFERENCE(sinh, std::sinh(x))
FOREBAY_REFERENCE(cosh, std::cosh(x))
FOREBAY_REFERENCE(tanh, std::tanh(x))
FOREBAY_REFERENCE(erf, std::erf(x))
FOREBAY_REFERENCE(gelu, 0.5 * x * std::erfc(-x / std::sqrt(2.0)))
FOREBAY_REFERENCE(silu, x / (1 + std::exp(-x)))
FOREBAY_REFERENCE(softplus, std::log1p(std::exp(x)))
FOREBAY_REFERENCE(sigmoid, 1 / (1 + std::exp(-x)))
FOREBAY_REFERENCE(abs, std::abs(x))
Reference atan2(const Reference& a, const Reference& b) {
  return map(a, b, [](double y, double x) { return std::atan2(y, x); });
}
Reference pow(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return std::pow(x, y); });
}
Reference remainder(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return x - y * std::floor(x / y); });
}
Reference fma(const Reference& a, const Reference& b, const Reference& c) { return a * b + c; }
Reference clamp(const Reference& a, const Reference& low, const Reference& high) {
  return minimum(maximum(a, low), high);
}

}  // namespace

#define FOREBAY_CHECK(name, ...) \
  check_gradient(                \
      device, #name, {{3, 5}}, [](const auto& x) { return name(x[0]); }, ##__VA_ARGS__)

TEST_CASE("gradients of functions agree with central differences") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  FOREBAY_CHECK(exp2);
  FOREBAY_CHECK(expm1);
  FOREBAY_CHECK(log2, 0.1, 3);
  FOREBAY_CHECK(log10, 0.1, 3);
  FOREBAY_CHECK(log1p, -0.5, 3);
  FOREBAY_CHECK(rsqrt, 0.2, 3);
  FOREBAY_CHECK(sin);
  FOREBAY_CHECK(cos);
  FOREBAY_CHECK(tan, -1, 1);
  FOREBAY_CHECK(asin, -0.9, 0.9);
  FOREBAY_CHECK(acos, -0.9, 0.9);
  FOREBAY_CHECK(atan);
  FOREBAY_CHECK(sinh);
  FOREBAY_CHECK(cosh);
  FOREBAY_CHECK(tanh);
  FOREBAY_CHECK(erf);
  FOREBAY_CHECK(gelu);
  FOREBAY_CHECK(silu);
  FOREBAY_CHECK(softplus);
  FOREBAY_CHECK(sigmoid);
  FOREBAY_CHECK(abs);
}

TEST_CASE("gradients of functions of several operands agree with central differences") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  const std::vector<Dims> two{{3, 5}, {5}};
  const std::vector<Dims> three{{3, 5}, {5}, {3, 1}};
  check_gradient(device, "atan2", two, [](const auto& x) { return atan2(x[0], x[1]); });
  check_gradient(
      device, "pow", two, [](const auto& x) { return pow(x[0], x[1]); }, 0.3, 3);
  check_gradient(
      device, "remainder", two, [](const auto& x) { return remainder(x[0], x[1]); }, 0.7, 3);
  check_gradient(device, "fma", three, [](const auto& x) { return fma(x[0], x[1], x[2]); });
  check_gradient(device, "clamp", three, [](const auto& x) { return clamp(x[0], x[1], x[2]); });
}

TEST_CASE("gradients pass through other real types") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  for (const DType type : {DType::f64, DType::f16, DType::bf16}) {
    const Tensor w = nn::requires_grad(from_host<float>(std::vector<float>{1, 2, -4}, {3}, device));
    const Tensor cast = w.to(type);
    nn::backward((cast * cast).to(DType::f32).sum());
    CHECK(nn::grad(w).dtype() == DType::f32);
    CHECK(nn::grad(w).to_host<float>() == std::vector<float>{2, 4, -8});
  }
}
