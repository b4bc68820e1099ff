// The derivatives of the functions of math.hpp.
#include "forebay/compute/math.hpp"
#include "nn/gradients.hpp"

namespace forebay::nn {
namespace {

using compute::Op;
using Gradient = GradientRule::Gradient;

constexpr float kInverseLn2 = 1.44269504F;
constexpr float kInverseLn10 = 0.434294482F;
constexpr float kLn2 = 0.693147181F;
constexpr float kTwoBySqrtPi = 1.12837917F;
constexpr float kInverseSqrt2Pi = 0.398942280F;

Tensor x(const Operation& o) { return o.input(0); }
Tensor y(const Operation& o) { return o.output(); }

// g / sqrt(1 - x^2), the derivative of asin.
Tensor over_circle(const Operation& o, Tensor g) {
  return std::move(g) * rsqrt(1.0F - x(o) * x(o));
}
Tensor normal_density(const Tensor& at) { return exp(at * at * -0.5F) * kInverseSqrt2Pi; }

// A rule of one operand: the gradient is a function of the operand or of the result.
template <std::uint8_t Needs>
constexpr GradientRule one(Gradient gradient) {
  return {.gradient = {gradient}, .needs = {Needs}};
}

constexpr GradientRule kExp2 =
    one<kOutput>([](const Operation& o, Tensor g) { return std::move(g) * y(o) * kLn2; });
constexpr GradientRule kExpm1 =
    one<kOutput>([](const Operation& o, Tensor g) { return std::move(g) * (y(o) + 1.0F); });
constexpr GradientRule kLog2 =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * kInverseLn2 / x(o); });
constexpr GradientRule kLog10 =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * kInverseLn10 / x(o); });
constexpr GradientRule kLog1p =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) / (x(o) + 1.0F); });
constexpr GradientRule kRsqrt = one<kFirst | kOutput>(
    [](const Operation& o, Tensor g) { return std::move(g) * -0.5F * y(o) / x(o); });
constexpr GradientRule kSin =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * cos(x(o)); });
constexpr GradientRule kCos =
    one<kFirst>([](const Operation& o, Tensor g) { return -std::move(g) * sin(x(o)); });
constexpr GradientRule kTan =
    one<kOutput>([](const Operation& o, Tensor g) { return std::move(g) * (1.0F + y(o) * y(o)); });
constexpr GradientRule kAsin = one<kFirst>(over_circle);
constexpr GradientRule kAcos =
    one<kFirst>([](const Operation& o, Tensor g) { return -over_circle(o, std::move(g)); });
constexpr GradientRule kAtan =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) / (1.0F + x(o) * x(o)); });
constexpr GradientRule kSinh =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * cosh(x(o)); });
constexpr GradientRule kCosh =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * sinh(x(o)); });
constexpr GradientRule kTanh =
    one<kOutput>([](const Operation& o, Tensor g) { return std::move(g) * (1.0F - y(o) * y(o)); });
constexpr GradientRule kErf = one<kFirst>(
    [](const Operation& o, Tensor g) { return std::move(g) * exp(-(x(o) * x(o))) * kTwoBySqrtPi; });
constexpr GradientRule kGelu = one<kFirst>([](const Operation& o, Tensor g) {
  const Tensor at = x(o);
  const Tensor below = 0.5F * (1.0F + erf(at * 0.707106781F));
  return std::move(g) * (below + at * normal_density(at));
});
constexpr GradientRule kSilu = one<kFirst>([](const Operation& o, Tensor g) {
  const Tensor s = sigmoid(x(o));
  return std::move(g) * (s + x(o) * s * (1.0F - s));
});
constexpr GradientRule kSoftplus =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * sigmoid(x(o)); });
constexpr GradientRule kSigmoid =
    one<kOutput>([](const Operation& o, Tensor g) { return std::move(g) * y(o) * (1.0F - y(o)); });
constexpr GradientRule kAbs =
    one<kFirst>([](const Operation& o, Tensor g) { return std::move(g) * sign(x(o)); });

constexpr GradientRule kAtan2{.gradient = {[](const Operation& o, Tensor g) {
                                             const Tensor a = o.input(0);
                                             const Tensor b = o.input(1);
                                             return std::move(g) * b / (a * a + b * b);
                                           },
                                           [](const Operation& o, Tensor g) {
                                             const Tensor a = o.input(0);
                                             const Tensor b = o.input(1);
                                             return -std::move(g) * a / (a * a + b * b);
                                           }},
                              .needs = {kFirst | kSecond, kFirst | kSecond}};
// A base of 0 has no slope along the exponent, as in PyTorch.
constexpr GradientRule kPow{.gradient = {[](const Operation& o, Tensor g) {
                                           const Tensor b = o.input(1);
                                           return std::move(g) * b * pow(o.input(0), b - 1.0F);
                                         },
                                         [](const Operation& o, Tensor g) {
                                           const Tensor a = o.input(0);
                                           const Tensor slope =
                                               where(equal(a, 0), zeros(Dims(), a.device()),
                                                     y(o) * log(a));
                                           return std::move(g) * slope;
                                         }},
                            .needs = {kFirst | kSecond, kFirst | kOutput}};
constexpr GradientRule kRemainder{.gradient = {[](const Operation&, Tensor g) { return g; },
                                               [](const Operation& o, Tensor g) {
                                                 return -std::move(g) *
                                                        floor_divide(o.input(0), o.input(1));
                                               }},
                                  .needs = {kNothing, kFirst | kSecond}};
constexpr GradientRule kFma{
    .gradient = {[](const Operation& o, Tensor g) { return std::move(g) * o.input(1); },
                 [](const Operation& o, Tensor g) { return std::move(g) * o.input(0); },
                 [](const Operation&, Tensor g) { return g; }},
    .needs = {kSecond, kFirst, kNothing}};

// Where `flows`, the gradient.
Tensor only(Tensor flows, Tensor g) {
  Tensor none = zeros(Dims(), g.device());
  return where(std::move(flows), std::move(g), std::move(none));
}
// Within the bounds it is the operand's, beyond them the bound's; the upper bound wins over the
// lower one.
constexpr GradientRule kClamp{
    .gradient = {[](const Operation& o, Tensor g) {
                   const Tensor a = o.input(0);
                   return only(greater_equal(a, o.input(1)) & less_equal(a, o.input(2)),
                               std::move(g));
                 },
                 [](const Operation& o, Tensor g) {
                   const Tensor low = o.input(1);
                   return only(less(o.input(0), low) & less_equal(low, o.input(2)), std::move(g));
                 },
                 [](const Operation& o, Tensor g) {
                   const Tensor high = o.input(2);
                   return only(greater(maximum(o.input(0), o.input(1)), high), std::move(g));
                 }},
    .needs = {kFirst | kSecond | kThird, kFirst | kSecond | kThird, kFirst | kSecond | kThird}};

}  // namespace

const GradientRule* math_rule(Op op) noexcept {
  switch (op) {
    case Op::exp2:
      return &kExp2;
    case Op::expm1:
      return &kExpm1;
    case Op::log2:
      return &kLog2;
    case Op::log10:
      return &kLog10;
    case Op::log1p:
      return &kLog1p;
    case Op::rsqrt:
      return &kRsqrt;
    case Op::sin:
      return &kSin;
    case Op::cos:
      return &kCos;
    case Op::tan:
      return &kTan;
    case Op::asin:
      return &kAsin;
    case Op::acos:
      return &kAcos;
    case Op::atan:
      return &kAtan;
    case Op::sinh:
      return &kSinh;
    case Op::cosh:
      return &kCosh;
    case Op::tanh:
      return &kTanh;
    case Op::erf:
      return &kErf;
    case Op::gelu:
      return &kGelu;
    case Op::silu:
      return &kSilu;
    case Op::softplus:
      return &kSoftplus;
    case Op::sigmoid:
      return &kSigmoid;
    case Op::abs:
      return &kAbs;
    case Op::atan2:
      return &kAtan2;
    case Op::pow:
      return &kPow;
    case Op::remainder:
      return &kRemainder;
    case Op::fma:
      return &kFma;
    case Op::clamp:
      return &kClamp;
    default:
      return nullptr;
  }
}

}  // namespace forebay::nn
