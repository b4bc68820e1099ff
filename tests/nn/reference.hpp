// Small arrays of doubles with the operations of Tensor, written for clarity: what gradients are
// checked against.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "forebay/compute/dtype.hpp"
#include "forebay/compute/shape.hpp"

namespace forebay::testing {

class Reference {
 public:
  Reference(double value) : data{value} {}  // NOLINT(google-explicit-constructor): as scalars do
  Reference(const Dims& extents, std::vector<double> values)
      : shape(extents), data(std::move(values)) {}
  explicit Reference(const Dims& extents)
      : shape(extents), data(static_cast<std::size_t>(checked_numel(extents))) {}

  [[nodiscard]] std::size_t size() const { return data.size(); }
  /// The element that a broadcast to `target` has at position `linear`.
  [[nodiscard]] double at(const Dims& target, std::size_t linear) const {
    std::size_t offset = 0;
    std::size_t stride = 1;
    for (std::size_t d = target.size(); d-- > 0;) {
      const auto coordinate = linear % static_cast<std::size_t>(target[d]);
      linear /= static_cast<std::size_t>(target[d]);
      if (target.size() - d > shape.size()) continue;
      const auto extent = static_cast<std::size_t>(shape[shape.size() - (target.size() - d)]);
      offset += extent == 1 ? 0 : coordinate * stride;
      stride *= extent;
    }
    return data[offset];
  }

  [[nodiscard]] Reference broadcast_to(const Dims& target) const {
    Reference result(target);
    for (std::size_t i = 0; i < result.size(); ++i) result.data[i] = at(target, i);
    return result;
  }
  [[nodiscard]] Reference reshape(const Dims& target) const { return {target, data}; }
  [[nodiscard]] Reference transpose(int a = -2, int b = -1) const {
    const auto rank = static_cast<int>(shape.size());
    const auto first = static_cast<std::size_t>(a < 0 ? a + rank : a);
    const auto second = static_cast<std::size_t>(b < 0 ? b + rank : b);
    Dims target = shape;
    std::swap(target[first], target[second]);
    Dims strides = contiguous_strides(shape);
    std::swap(strides[first], strides[second]);
    Reference result(target);
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::size_t rest = i;
      std::size_t offset = 0;
      for (std::size_t d = target.size(); d-- > 0;) {
        const auto extent = static_cast<std::size_t>(target[d]);
        offset += rest % extent * static_cast<std::size_t>(strides[d]);
        rest /= extent;
      }
      result.data[i] = data[offset];
    }
    return result;
  }
  /// Elements joined along `axes`, all of them if there are none.
  template <typename Join>
  [[nodiscard]] Reference reduce(double start, Join join, std::span<const int> axes,
                                 bool keepdim) const {
    const auto rank = static_cast<int>(shape.size());
    Dims kept = shape;
    Dims squeezed;
    for (int d = 0; d < rank; ++d) {
      const bool reduced = axes.empty() || std::any_of(axes.begin(), axes.end(), [&](int axis) {
                             return axis == d || axis + rank == d;
                           });
      if (reduced) {
        kept[static_cast<std::size_t>(d)] = 1;
      } else {
        squeezed.push_back(shape[static_cast<std::size_t>(d)]);
      }
    }
    Reference result(kept);
    std::fill(result.data.begin(), result.data.end(), start);
    Reference index(kept);
    for (std::size_t i = 0; i < index.size(); ++i) index.data[i] = static_cast<double>(i);
    for (std::size_t i = 0; i < size(); ++i) {
      double& joined = result.data[static_cast<std::size_t>(index.at(shape, i))];
      joined = join(joined, data[i]);
    }
    return keepdim ? result : result.reshape(squeezed);
  }
  [[nodiscard]] Reference sum(std::span<const int> axes = {}, bool keepdim = false) const {
    return reduce(
        0, [](double a, double b) { return a + b; }, axes, keepdim);
  }
  [[nodiscard]] Reference prod(std::span<const int> axes = {}, bool keepdim = false) const {
    return reduce(
        1, [](double a, double b) { return a * b; }, axes, keepdim);
  }
  [[nodiscard]] Reference min(std::span<const int> axes = {}, bool keepdim = false) const {
    return reduce(
        1e300, [](double a, double b) { return std::min(a, b); }, axes, keepdim);
  }
  [[nodiscard]] Reference max(std::span<const int> axes = {}, bool keepdim = false) const {
    return reduce(
        -1e300, [](double a, double b) { return std::max(a, b); }, axes, keepdim);
  }
  [[nodiscard]] Reference mean(std::span<const int> axes = {}, bool keepdim = false) const {
    Reference result = sum(axes, keepdim);
    for (double& value : result.data) {
      value *= static_cast<double>(result.size()) / static_cast<double>(size());
    }
    return result;
  }

  Dims shape;
  std::vector<double> data;
};

template <typename Function>
Reference map(const Reference& a, Function function) {
  Reference result(a.shape);
  std::transform(a.data.begin(), a.data.end(), result.data.begin(), function);
  return result;
}
template <typename Function>
Reference map(const Reference& a, const Reference& b, Function function) {
  Reference result(broadcast_shapes(a.shape, b.shape));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result.data[i] = function(a.at(result.shape, i), b.at(result.shape, i));
  }
  return result;
}

inline Reference operator+(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return x + y; });
}
inline Reference operator-(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return x - y; });
}
inline Reference operator*(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return x * y; });
}
inline Reference operator/(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return x / y; });
}
inline Reference operator-(const Reference& a) {
  return map(a, [](double x) { return -x; });
}
inline Reference exp(const Reference& a) {
  return map(a, [](double x) { return std::exp(x); });
}
inline Reference log(const Reference& a) {
  return map(a, [](double x) { return std::log(x); });
}
inline Reference sqrt(const Reference& a) {
  return map(a, [](double x) { return std::sqrt(x); });
}
inline Reference relu(const Reference& a) {
  return map(a, [](double x) { return std::max(x, 0.0); });
}
inline Reference minimum(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return std::min(x, y); });
}
inline Reference maximum(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return std::max(x, y); });
}
inline Reference greater(const Reference& a, const Reference& b) {
  return map(a, b, [](double x, double y) { return x > y ? 1.0 : 0.0; });
}
inline Reference where(const Reference& condition, const Reference& a, const Reference& b) {
  Reference result(broadcast_shapes(condition.shape, broadcast_shapes(a.shape, b.shape)));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool chosen = condition.at(result.shape, i) != 0;
    result.data[i] = (chosen ? a : b).at(result.shape, i);
  }
  return result;
}
/// Every element of a result of `shape` from the input and the coordinates that `pick` chooses.
template <typename Pick>
Reference picked(const Dims& shape, Pick pick) {
  Reference result(shape);
  for (std::size_t i = 0; i < result.size(); ++i) {
    Dims at = shape;
    std::size_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[d]);
      at[d] = static_cast<std::int64_t>(rest % extent);
      rest /= extent;
    }
    const Reference& from = pick(at);
    std::size_t linear = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      linear = linear * static_cast<std::size_t>(from.shape[d]) + static_cast<std::size_t>(at[d]);
    }
    result.data[i] = from.data[linear];
  }
  return result;
}
inline Reference narrow(const Reference& a, int axis, std::int64_t start, std::int64_t length) {
  const auto d = static_cast<std::size_t>(axis);
  Dims shape = a.shape;
  shape[d] = length;
  return picked(shape, [&](Dims& at) -> const Reference& {
    at[d] += start;
    return a;
  });
}
inline Reference flip(const Reference& a, int axis) {
  const auto d = static_cast<std::size_t>(axis);
  return picked(a.shape, [&](Dims& at) -> const Reference& {
    at[d] = a.shape[d] - 1 - at[d];
    return a;
  });
}
inline Reference cat(const std::vector<Reference>& all, int axis) {
  const auto d = static_cast<std::size_t>(axis);
  Dims shape = all.front().shape;
  shape[d] = 0;
  for (const Reference& one : all) shape[d] += one.shape[d];
  return picked(shape, [&](Dims& at) -> const Reference& {
    std::size_t k = 0;
    for (; at[d] >= all[k].shape[d]; ++k) at[d] -= all[k].shape[d];
    return all[k];
  });
}
inline Reference matmul(const Reference& a, const Reference& b) {
  const auto m = static_cast<std::size_t>(a.shape[0]);
  const auto k = static_cast<std::size_t>(a.shape[1]);
  const auto n = static_cast<std::size_t>(b.shape[1]);
  Reference result(Dims{a.shape[0], b.shape[1]});
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) {
        result.data[i * n + j] += a.data[i * k + l] * b.data[l * n + j];
      }
    }
  }
  return result;
}

}  // namespace forebay::testing
