// Tensors without elements, and with one, through everything that takes a tensor.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "forebay/compute/math.hpp"
#include "forebay/compute/normalize.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

inline const std::array<Dims, 6>& empty_shapes() {
  static const std::array<Dims, 6> kShapes{Dims{0},    Dims{0, 3},    Dims{3, 0},
                                           Dims{0, 0}, Dims{2, 0, 3}, Dims{1, 1, 0}};
  return kShapes;
}

/// Elementwise operations of every type on tensors of no elements: no launch, the right shape.
inline void check_empty_elementwise(Device& device) {
  const std::uint64_t launches = device.counters().fusion.launches;
  for (const DType type : kAllTypes) {
    for (const Dims& shape : empty_shapes()) {
      INFO(to_string(type) << " " << to_string(shape) << " on " << device.id());
      const Tensor x = zeros(shape, device, type);
      const Tensor y = empty(shape, device, type);
      for (const Tensor& t :
           {x + y, x * 2, y / x, maximum(x, y), greater(x, y), where(x, y, x), exp(x), sqrt(y),
            x.to(DType::f16) + y.to(DType::i64), x.transpose(0, -1).transpose(0, -1), flip(y, 0),
            x.reshape(shape), (x + y).eval()}) {
        CHECK(t.shape() == shape);
        CHECK(t.to(DType::f32).to_host<float>().empty());
      }
      assign(y, x);
      CHECK((x + zeros({1}, device, type)).shape() == shape);
    }
  }
  CHECK(device.counters().fusion.launches == launches);
}

/// Reductions of nothing over every axis: the identity where there is one, else an error.
inline void check_empty_reductions(Device& device) {
  for (const DType type : kAllTypes) {
    const bool real = category_of(type) == Category::real;
    for (const Dims& shape : empty_shapes()) {
      std::vector<std::vector<int>> axes{{}};
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) axes.push_back({axis});
      for (const std::vector<int>& axis : axes) {
        INFO(to_string(type) << " " << to_string(shape) << " over "
                             << (axis.empty() ? "all" : std::to_string(axis[0])) << " on "
                             << device.id());
        const Tensor x = zeros(shape, device, type).eval();
        Dims kept = shape;
        for (std::size_t d = 0; d < kept.size(); ++d) {
          if (axis.empty() || axis[0] == static_cast<int>(d)) kept[d] = 1;
        }
        const auto results = static_cast<std::size_t>(checked_numel(kept));
        const auto all_are = [&](const Tensor& t, double want) {
          CHECK(t.shape() == kept);
          const std::vector<double> got = t.to(DType::f64).to_host<double>();
          CHECK(got.size() == results);
          for (const double value : got) CHECK((value == want || (want != want && value != value)));
        };
        all_are(x.sum(axis, true), 0);
        all_are(x.prod(axis, true), 1);
        all_are(x.any(axis, true), 0);
        all_are(x.all(axis, true), 1);
        if (real) all_are(x.mean(axis, true), std::numeric_limits<double>::quiet_NaN());
        if (real) all_are(x.norm(axis, true), 0);
        // What has no least element has none: an error, unless nothing is asked for.
        if (results > 0) {
          CHECK_THROWS_AS(x.min(axis), ShapeError);
          CHECK_THROWS_AS(x.max(axis), ShapeError);
          CHECK_THROWS_AS(x.argmin(axis), ShapeError);
          CHECK_THROWS_AS(x.argmax(axis), ShapeError);
        } else if (axis.empty() || shape[static_cast<std::size_t>(axis[0])] > 0) {
          all_are(x.min(axis, true), 0);
          all_are(x.argmax(axis, true), 0);
        }
      }
    }
  }
}

/// Parts, joins, products and normalisations.
inline void check_empty_shaping(Device& device) {
  const Tensor some = full({2, 3}, 5.0F, device).eval();
  const Tensor none = zeros({0, 3}, device);
  CHECK(cat(std::array{some, none, some}, 0).to_host<float>() == std::vector<float>(12, 5.0F));
  CHECK(cat(std::array{none, none}, 0).shape() == Dims{0, 3});
  CHECK(cat(std::array{zeros({2, 0}, device), some}, 1).to_host<float>() ==
        std::vector<float>(6, 5.0F));
  CHECK(stack(std::array{none, none}, 0).shape() == Dims{2, 0, 3});
  CHECK(narrow(some, 0, 1, 0).shape() == Dims{0, 3});
  CHECK(slice(some, 1, 2, 1).shape() == Dims{2, 0});
  CHECK(none.broadcast_to({0, 3}).to_host<float>().empty());
  CHECK(zeros({0, 1}, device).broadcast_to({0, 7}).to_host<float>().empty());
  const Tensor nobody = zeros({0}, device, DType::i64).eval();
  CHECK(index_select(some, 0, nobody).shape() == Dims{0, 3});
  CHECK(gather(some, 0, zeros({0, 3}, device, DType::i64).eval()).to_host<float>().empty());
  const Tensor product = matmul(zeros({2, 0}, device), zeros({0, 4}, device));
  CHECK(product.to_host<float>() == std::vector<float>(8, 0.0F));
  CHECK(matmul(none, zeros({3, 4}, device)).shape() == Dims{0, 4});
  for (const Dims& shape : empty_shapes()) {
    INFO(to_string(shape) << " on " << device.id());
    const Tensor x = zeros(shape, device).eval();
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      CHECK(softmax(x, axis).to_host<float>().empty());
      CHECK(log_softmax(x, axis).shape() == shape);
    }
    CHECK(layer_norm(x).to_host<float>().empty());
  }
}

/// One element, with and without dimensions.
inline void check_single_elements(Device& device) {
  for (const Dims& shape : {Dims(), Dims{1}, Dims{1, 1, 1}}) {
    INFO(to_string(shape) << " on " << device.id());
    const Tensor x = full(shape, 3.0F, device).eval();
    CHECK((x + x).to_host<float>() == std::vector<float>{6});
    CHECK(x.sum().item() == 3);
    CHECK(x.max().item() == 3);
    CHECK(x.argmin().item<std::int64_t>() == 0);
    CHECK(x.mean().item() == 3);
    CHECK(std::isnan(x.var().item()));
    if (!shape.empty()) CHECK(softmax(x).to_host<float>() == std::vector<float>{1});
  }
}

/// The least integers over -1, by numbers and by tensors: the result wraps, nothing traps.
inline void check_least_integers(Device& device) {
  const auto check = [&](auto least) {
    using Int = decltype(least);
    const std::vector<Int> values{least, static_cast<Int>(least + 1), 7, -7, 0};
    const Tensor x = from_host<Int>(values, {5}, device);
    const std::vector<Int> quotients{least, static_cast<Int>(-(least + 1)), -7, 7, 0};
    const Tensor minus_one = full({5}, Int{-1}, device).eval();
    CHECK(floor_divide(x, -1).template to_host<Int>() == quotients);
    CHECK(floor_divide(x, minus_one).template to_host<Int>() == quotients);
    CHECK(remainder(x, -1).template to_host<Int>() == std::vector<Int>(5, 0));
    CHECK(remainder(x, minus_one).template to_host<Int>() == std::vector<Int>(5, 0));
    CHECK(floor_divide(x, 0).template to_host<Int>() == std::vector<Int>(5, 0));
    CHECK(remainder(x, 0).template to_host<Int>() == std::vector<Int>(5, 0));
    CHECK(abs(x).template to_host<Int>()[0] == least);
    CHECK((-x).template to_host<Int>()[0] == least);
    CHECK(floor_divide(x, 2).template to_host<Int>() ==
          std::vector<Int>{static_cast<Int>(least / 2), static_cast<Int>(least / 2), 3, -4, 0});
    CHECK(remainder(x, 2).template to_host<Int>() == std::vector<Int>{0, 1, 1, 1, 0});
  };
  check(std::numeric_limits<std::int32_t>::min());
  check(std::numeric_limits<std::int64_t>::min());
}

}  // namespace forebay::testing
