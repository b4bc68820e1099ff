#include "compute/strides.hpp"

#include <algorithm>

namespace forebay::compute {

Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& target) {
  Dims result = target;
  const std::size_t lead = target.size() - shape.size();
  for (std::size_t d = 0; d < target.size(); ++d) {
    result[d] = d < lead || shape[d - lead] == 1 ? 0 : strides[d - lead];
  }
  return result;
}

Collapsed collapse(const Dims& shape, std::uint8_t reduced_dims, std::span<Dims> strides) {
  Collapsed result;
  std::size_t rank = 0;  // dimensions of the result so far; strides shrink in place
  bool last_reduced = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool reduced = ((reduced_dims >> d) & 1U) != 0;
    const bool merges = rank != 0 && reduced == last_reduced &&
                        std::all_of(strides.begin(), strides.end(),
                                    [&](const Dims& s) { return s[rank - 1] == s[d] * shape[d]; });
    if (merges) {
      result.extents[rank - 1] *= shape[d];
    } else {
      result.extents.push_back(shape[d]);
      if (reduced) result.reduced_dims |= static_cast<std::uint8_t>(1U << rank);
      ++rank;
    }
    for (Dims& s : strides) s[rank - 1] = s[d];
    last_reduced = reduced;
  }
  if (rank == 0) {
    result.extents.push_back(1);
    rank = 1;
    for (Dims& s : strides) s = Dims{0};
  }
  for (Dims& s : strides) s = Dims(std::span(s.begin(), rank));
  return result;
}

}  // namespace forebay::compute
