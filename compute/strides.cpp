#include "compute/strides.hpp"

#include <algorithm>
#include <array>

namespace forebay::compute {

Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& target) {
  Dims result = target;
  const std::size_t lead = target.size() - shape.size();
  for (std::size_t d = 0; d < target.size(); ++d) {
    result[d] = d < lead || shape[d - lead] == 1 ? 0 : strides[d - lead];
  }
  return result;
}

void require_broadcast(const std::string& what, const Dims& shape, const Dims& target) {
  bool fits = shape.size() <= target.size();
  for (std::size_t d = 1; fits && d <= shape.size(); ++d) {
    const std::int64_t extent = shape[shape.size() - d];
    fits = extent == 1 || extent == target[target.size() - d];
  }
  if (fits) return;
  throw ShapeError(what + " of shape " + to_string(shape) + " does not broadcast to " +
                   to_string(target));
}

bool may_overlap(const Dims& shape, const Dims& strides) {
  struct Step {
    std::uint64_t stride, extent;
  };
  std::array<Step, kMaxRank> steps{};
  std::size_t count = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return false;
    if (shape[d] == 1) continue;
    const auto stride = static_cast<std::uint64_t>(strides[d]);
    steps[count++] = {strides[d] < 0 ? 0 - stride : stride, static_cast<std::uint64_t>(shape[d])};
  }
  const std::span<Step> used = std::span(steps).first(count);
  std::sort(used.begin(), used.end(),
            [](const Step& a, const Step& b) { return a.stride < b.stride; });
  std::uint64_t reach = 0;  // from the first element in memory to the last one
  return std::any_of(used.begin(), used.end(), [&](const Step& step) {
    const bool overlaps = step.stride <= reach;
    reach += (step.extent - 1) * step.stride;
    return overlaps;
  });
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
