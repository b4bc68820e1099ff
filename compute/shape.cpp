#include "forebay/compute/shape.hpp"

#include <algorithm>

namespace forebay {
namespace {

// Bytes of the largest shape; an element has four.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

[[noreturn]] void throw_rank(std::size_t rank) {
  throw ShapeError("a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " +
                   std::to_string(rank));
}

}  // namespace

Dims::Dims(std::initializer_list<std::int64_t> values)
    : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}

Dims::Dims(std::span<const std::int64_t> values) : size_(values.size()) {
  if (size_ > kMaxRank) throw_rank(size_);
  std::copy(values.begin(), values.end(), values_.begin());
}

void Dims::push_back(std::int64_t value) {
  if (size_ == kMaxRank) throw_rank(size_ + 1);
  values_[size_++] = value;
}

bool Dims::operator==(const Dims& other) const noexcept {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i != 0 ? ", " : "") + std::to_string(dims[i]);
  }
  return text + "]";
}

std::int64_t checked_numel(const Dims& shape) {
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw ShapeError("shape " + to_string(shape) + " has a negative extent");
  }
  // An extent of zero makes the rest harmless, whatever it multiplies to.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t numel = 1;
  for (const std::int64_t extent : shape) {
    if (extent > kMaxElements / numel) {
      throw ShapeError("shape " + to_string(shape) + " has more than 2^62 bytes");
    }
    numel *= extent;
  }
  return numel;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  std::uint64_t stride = 1;  // may wrap, beside an extent of zero only
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

Dims broadcast_shapes(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[lead + i];
    if (extent == 1) {
      extent = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != extent) {
      throw ShapeError("shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    }
  }
  return result;
}

}  // namespace forebay
