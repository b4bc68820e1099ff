#include "tools/forebay/measures.hpp"

#include <algorithm>
#include <cmath>

namespace forebay::tools {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

double median(std::span<const double> values) {
  const std::vector<double> v = sorted(values);
  const std::size_t middle = v.size() / 2;
  return v.size() % 2 == 1 ? v[middle] : (v[middle - 1] + v[middle]) / 2;
}

std::optional<double> climb_percent(std::span<const double> values, std::size_t warm_up) {
  if (values.size() < warm_up + 2) return std::nullopt;
  const auto steady = values.subspan(warm_up);
  const std::size_t tenth = std::max<std::size_t>(1, steady.size() / 10);
  return 100 * (median(steady.last(tenth)) / median(steady.first(tenth)) - 1);
}

Interval median_interval(std::span<const double> values) {
  const std::vector<double> v = sorted(values);
  const std::size_t n = v.size();
  // `below` = P(Binomial(n, 1/2) < k), `term` = P(Binomial(n, 1/2) = k).
  double term = std::exp2(-static_cast<double>(n));
  double below = term;
  std::size_t k = 1;
  while (2 * k < n) {
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    if (2 * (below + term) > 0.05) break;
    below += term;
    ++k;
  }
  return {v[k - 1], v[n - k], 1 - 2 * below};
}

}  // namespace forebay::tools
