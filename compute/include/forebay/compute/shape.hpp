// Shapes: extents of a tensor, row-major, checked against overflow once when they are made.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "forebay/pool/error.hpp"

namespace forebay {

/// The most dimensions a tensor may have.
inline constexpr std::size_t kMaxRank = 8;

/// Extents or strides of up to kMaxRank dimensions, in elements, without an allocation.
class Dims {
 public:
  Dims() = default;
  /// Throws ShapeError for more than kMaxRank values.
  Dims(std::initializer_list<std::int64_t> values)
      : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::int64_t> values) : size_(values.size()) {
    if (size_ > kMaxRank) throw_rank(size_);
    std::copy(values.begin(), values.end(), values_.begin());
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  const std::int64_t& operator[](std::size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + size_; }
  /// Throws ShapeError beyond kMaxRank.
  void push_back(std::int64_t value);
  bool operator==(const Dims& other) const noexcept {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  [[noreturn]] static void throw_rank(std::size_t rank);

  std::size_t size_ = 0;
  std::array<std::int64_t, kMaxRank> values_{};
};

/// Which axes, for the length of a call: `x.sum(1)`, `x.sum({0, -1})` or any array of ints; all of
/// them without any. Holds no copy of an array. ShapeError for one axis that no int holds.
class Axes {
 public:
  Axes() noexcept = default;
  template <std::integral T>
  requires(!std::same_as<T, bool>) Axes(T axis) : one_(static_cast<int>(axis)), axes_(&one_, 1) {
    if (!std::in_range<int>(axis)) throw_axis(std::to_string(axis));
  }
  Axes(std::initializer_list<int> axes) noexcept : axes_(axes.begin(), axes.size()) {}
  template <std::convertible_to<std::span<const int>> T>
  requires(!std::same_as<T, Axes>) Axes(const T& axes)
  noexcept : axes_(axes) {}
  Axes(const Axes&) = delete;
  Axes& operator=(const Axes&) = delete;
  operator std::span<const int>() const noexcept { return axes_; }

 private:
  [[noreturn]] static void throw_axis(const std::string& axis);

  int one_ = 0;
  std::span<const int> axes_;
};

/// "[32, 4, 84, 84]", "[]" for a scalar.
[[nodiscard]] std::string to_string(const Dims& dims);
/// The number of elements; 1 for no dimension. Throws ShapeError, naming the shape, for a negative
/// extent or a product of bytes beyond 2^62.
[[nodiscard]] std::int64_t checked_numel(const Dims& shape);
/// Row-major strides in elements.
[[nodiscard]] Dims contiguous_strides(const Dims& shape);
/// The common shape by NumPy's rules. Throws ShapeError naming both shapes.
[[nodiscard]] Dims broadcast_shapes(const Dims& a, const Dims& b);

}  // namespace forebay
