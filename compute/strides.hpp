// Strides: repeating by broadcast, and iteration spaces with as few dimensions as can be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forebay/compute/shape.hpp"

namespace forebay::compute {

/// Strides that repeat a tensor of `shape` and `strides` over the dimensions of `target`, to which
/// it broadcasts.
[[nodiscard]] Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& target);

/// Throws ShapeError unless a tensor of `shape` can be repeated to `target`: "WHAT of shape [2]
/// does not broadcast to [3]".
void require_broadcast(const std::string& what, const Dims& shape, const Dims& target);

/// Whether elements of a view may share memory: false where each stride is longer than all shorter
/// ones reach together, which holds for every part of a tensor whose own elements are apart.
[[nodiscard]] bool may_overlap(const Dims& shape, const Dims& strides);

/// Dimensions of one element are dropped, and neighbours merged where every leaf steps through both
/// as through one and both are reduced or both kept. At least one dimension stays.
struct Collapsed {
  Dims extents;
  std::uint8_t reduced_dims = 0;  ///< bit d: dimension d is reduced
};
/// `strides` (one for each leaf, of `shape`'s rank) are rewritten for the collapsed space.
[[nodiscard]] Collapsed collapse(const Dims& shape, std::uint8_t reduced_dims,
                                 std::span<Dims> strides);

}  // namespace forebay::compute
