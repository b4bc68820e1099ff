// How much a test that could go on for ever does.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace forebay::pool::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

/// Operations of one seed of a random test: `usual`, `sanitised` in a sanitised build, and 10^6
/// where FOREBAY_LONG_TESTS is set.
inline std::size_t operations(std::size_t usual, std::size_t sanitised) {
  if (std::getenv("FOREBAY_LONG_TESTS") != nullptr) return 1'000'000;
  return kSanitised ? sanitised : usual;
}

}  // namespace forebay::pool::test
