// Which elements lie so that one instruction accesses them together.
#pragma once

#include <cstddef>

#include "forebay/compute/shape.hpp"

namespace forebay::cuda {

/// Whether `piece` elements of so many bytes at an address can be accessed together, sixteen bytes
/// at most at a time.
[[nodiscard]] bool is_aligned(const void* address, std::size_t element, unsigned piece) noexcept;
/// Whether a leaf or an output can be accessed by pieces of `piece` elements: they lie together and
/// are aligned. `strides` in elements, for dimensions of `extents`, `inner` the one along which the
/// elements of a piece follow each other.
[[nodiscard]] bool is_packed(const void* address, std::size_t element, const Dims& strides,
                             const Dims& extents, std::size_t inner, unsigned piece) noexcept;

}  // namespace forebay::cuda
