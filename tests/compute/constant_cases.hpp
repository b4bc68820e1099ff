// Numbers beside tensors that are easily lost on the way into a kernel: infinities, NaN, zeros of
// both signs, subnormals, and the least integers.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "forebay/compute/math.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/compute/reference.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

struct SpecialConstant {
  std::string name;
  Scalar value;
};

inline std::vector<SpecialConstant> special_constants(DType type) {
  using Real = std::numeric_limits<double>;
  if (category_of(type) == Category::real) {
    return {{"inf", Real::infinity()},  {"-inf", -Real::infinity()},
            {"nan", Real::quiet_NaN()}, {"-0", -0.0},
            {"subnormal", 1e-40},       {"2^-1074", Real::denorm_min()}};
  }
  const auto least = std::numeric_limits<std::int64_t>::min();
  switch (type) {
    case DType::i64:
      return {{"least", least}, {"greatest", -(least + 1)}, {"-1", -1}, {"0", 0}};
    case DType::i32:
      return {{"least", std::numeric_limits<std::int32_t>::min()},
              {"greatest", std::numeric_limits<std::int32_t>::max()},
              {"-1", -1},
              {"0", 0}};
    case DType::u8:
      return {{"greatest", 255}, {"0", 0}};
    default:
      return {{"true", true}, {"false", false}};
  }
}

/// Elements that meet the constants in interesting ways.
inline Tensor special_elements(Device& device, DType type) {
  if (category_of(type) == Category::real) {
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<double> values{
        0, -0.0, 1, -1.5, inf, -inf, std::numeric_limits<double>::quiet_NaN(), 1e-40, 65504, -3};
    return from_host<double>(values, {static_cast<std::int64_t>(values.size())}, device, type);
  }
  const auto least = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> values{0,
                                         1,
                                         -1,
                                         7,
                                         -7,
                                         least,
                                         least + 1,
                                         -(least + 1),
                                         std::numeric_limits<std::int32_t>::min(),
                                         std::numeric_limits<std::int32_t>::max(),
                                         255};
  return from_host<std::int64_t>(values, {static_cast<std::int64_t>(values.size())}, device, type);
}

/// x with c on either side of what takes a number on either side, and on one of the rest.
template <typename Constant>
std::vector<Tensor> with_constant(const Tensor& x, const Constant& c) {
  std::vector<Tensor> results{x + c,      c + x,         x * c,          x / c,
                              c / x,      minimum(x, c), maximum(x, c),  greater(x, c),
                              less(x, c), equal(x, c),   not_equal(x, c)};
  if (x.dtype() != DType::boolean) {
    results.push_back(x - c);
    results.push_back(c - x);
    results.push_back(floor_divide(x, c));
    results.push_back(remainder(x, c));
    results.push_back(pow(x, c));
    results.push_back(pow(c, x));
    results.push_back(clamp(x, c, c));
  }
  return results;
}

/// Every element as bits, by way of the widest type of its category; NaN is one NaN.
inline std::vector<std::uint64_t> bits_of_all(const std::vector<Tensor>& tensors) {
  std::vector<std::uint64_t> bits;
  for (const Tensor& tensor : tensors) {
    if (category_of(tensor.dtype()) == Category::real) {
      for (const double v : tensor.to(DType::f64).to_host<double>()) {
        bits.push_back(v != v ? ~std::uint64_t{0} : test::bits_of(v));
      }
    } else {
      for (const std::int64_t v : tensor.to(DType::i64).to_host<std::int64_t>()) {
        bits.push_back(test::bits_of(v));
      }
    }
  }
  return bits;
}

/// A number beside a tensor gives on `device` the bits that a tensor of that number gives on
/// `reference`.
inline void check_special_constants(Device& device, Device& reference,
                                    std::span<const DType> types = kAllTypes) {
  for (const DType type : types) {
    const Tensor here = special_elements(device, type);
    const Tensor there = special_elements(reference, type);
    for (const SpecialConstant& constant : special_constants(type)) {
      INFO(constant.name << " beside " << to_string(type) << " on " << device.id());
      std::vector<Tensor> got = with_constant(here, constant.value);
      eval(got);
      const Tensor whole = full(there.shape(), constant.value, reference, type).eval();
      std::vector<Tensor> want;
      for (Tensor& result : with_constant(there, whole)) want.push_back(std::move(result.eval()));
      const auto got_bits = bits_of_all(got);
      const auto want_bits = bits_of_all(want);
      REQUIRE(got_bits.size() == want_bits.size());
      const auto elements = static_cast<std::size_t>(here.numel());
      for (std::size_t i = 0; i < got_bits.size(); ++i) {
        INFO("result " << i / elements << " of element " << i % elements);
        REQUIRE(got_bits[i] == want_bits[i]);
      }
    }
  }
}

}  // namespace forebay::testing
