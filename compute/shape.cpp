#include "forebay/compute/shape.hpp"

#include <algorithm>

namespace forebay {
namespace {

// Bytes of the largest shape; an element has four.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

}  // namespace

void Dims::throw_rank(std::size_t rank) {
  throw ShapeError("a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " +
                   std::to_string(rank));
}

void Dims::push_back(std::int64_t value) {
  if (size_ == kMaxRank) throw_rank(size_ + 1);
  values_[size_++] = value;
}

void Axes::throw_axis(const std::string& axis) {
  throw ShapeError("axis " + axis + " is in no shape");
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i != 0 ? ", " : "") + std::to_string(dims[i]);
  }
  return text + "]";
}

std::int64_t checked_numel(const Dims& shape) {
  std::int64_t numel = 1;
  bool fits = true;
  bool nothing = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw ShapeError("shape " + to_string(shape) + " has a negative extent");
    fits = fits && !__builtin_mul_overflow(numel, extent, &numel) && numel <= kMaxElements;
    nothing = nothing || extent == 0;
  }
  // An extent of zero makes the rest harmless, whatever it multiplies to.
  if (nothing) return 0;
  if (!fits) throw ShapeError("shape " + to_string(shape) + " has more than 2^62 bytes");
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
