#include "compute/cuda/alignment.hpp"

#include <algorithm>
#include <cstdint>

namespace forebay::cuda {

bool is_aligned(const void* address, std::size_t element, unsigned piece) noexcept {
  const std::size_t access = std::min<std::size_t>(piece * element, 16);
  return piece > 1 && reinterpret_cast<std::uintptr_t>(address) % access == 0;
}

bool is_packed(const void* address, std::size_t element, const Dims& strides, const Dims& extents,
               std::size_t inner, unsigned piece) noexcept {
  if (!is_aligned(address, element, piece)) return false;
  const auto access = static_cast<std::int64_t>(std::min<std::size_t>(piece * element, 16));
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (d == inner) {
      if (strides[d] != 1) return false;
    } else if (extents[d] > 1 && strides[d] * static_cast<std::int64_t>(element) % access != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace forebay::cuda
