// The few figures that a bench makes of its times.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace forebay::tools {

/// The middle value, the mean of the middle two for an even count. REQUIRES: not empty.
[[nodiscard]] double median(std::span<const double> values);

/// By how many percent the median of the last tenth lies above that of the first tenth, after the
/// first `warm_up` values are left out; nothing when fewer than two are left.
[[nodiscard]] std::optional<double> climb_percent(std::span<const double> values,
                                                  std::size_t warm_up = 10);

struct Interval {
  double low = 0;
  double high = 0;
  double confidence = 0;  ///< the probability that it covers the median
};
/// The narrowest interval between order statistics that covers the median with at least 95 %
/// probability, by the sign test: P = 1 − 2 · P(Binomial(n, ½) < k). Needs six values; fewer give
/// the whole range and the confidence that it has.
[[nodiscard]] Interval median_interval(std::span<const double> values);

}  // namespace forebay::tools
