// For what is asked millions of times.
#pragma once

#include "tests/support/catch.hpp"

/// REQUIRE, but what holds is not counted, which takes longer than many a question; what does not
/// hold is named without its values.
#define HOLDS(...)                          \
  do {                                      \
    if (!(__VA_ARGS__)) FAIL(#__VA_ARGS__); \
  } while (false)
