// The key that somebody may have meant.
#include <algorithm>
#include <utility>

#include "runtime/config_keys.hpp"

namespace forebay::config_keys {
namespace {

/// Insertions, deletions and replacements between two texts.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j < row.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

std::string_view object_of(std::string_view pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

std::string_view last_name(std::string_view pointer) {
  return pointer.substr(pointer.rfind('/') + 1);
}

}  // namespace

std::string nearest(std::string_view pointer) {
  pointer = pointer.substr(0, 80);  // bounds the work; no key is as long
  std::string best;
  std::size_t best_distance = SIZE_MAX;
  const auto consider = [&](std::string_view candidate) {
    // A right name in a wrong object says more than a right object around a wrong name.
    const std::size_t far = 4 * distance(last_name(pointer), last_name(candidate)) +
                            distance(object_of(pointer), object_of(candidate));
    if (far < best_distance) {
      best_distance = far;
      best = candidate;
    }
  };
  for (const Key& key : all()) {
    consider(key.pointer);
    for (auto end = key.pointer.rfind('/'); end > 0; end = key.pointer.rfind('/', end - 1)) {
      consider(std::string_view(key.pointer).substr(0, end));
    }
  }
  return best;
}

}  // namespace forebay::config_keys
