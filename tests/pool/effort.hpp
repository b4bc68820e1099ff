// How much a test that could go on for ever does.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace forebay::pool::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr int kBuild = 2;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int kBuild = 1;
#else
inline constexpr int kBuild = 0;
#endif
inline constexpr bool kSanitised = kBuild != 0;

/// By the build: what is usual, what is enough to see where memory is misused, and what is enough
/// of a test with one thread to be seen by the sanitizer of threads.
template <typename T>
constexpr T by_build(T usual, T addresses, T threads) {
  constexpr int build = kBuild;
  return build == 0 ? usual : build == 1 ? addresses : threads;
}

/// Operations of one seed of a random test: `usual`, `sanitised` in a sanitised build, a quarter of
/// that for threads if it is many, and 10^6 where FOREBAY_LONG_TESTS is set.
inline std::size_t operations(std::size_t usual, std::size_t sanitised) {
  if (std::getenv("FOREBAY_LONG_TESTS") != nullptr) return 1'000'000;
  return by_build(usual, sanitised, sanitised < 4'000 ? sanitised : sanitised / 4);
}

}  // namespace forebay::pool::test
