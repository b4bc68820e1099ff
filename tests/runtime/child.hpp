// Child processes of tests: what happens at fork and at exit is seen from outside.
#pragma once

#include <string>

#include "tests/support/forked.hpp"

namespace forebay::test {

/// Runs the program of end_program.cpp, which lies beside the tests.
[[nodiscard]] Ended run_end_program(const std::string& scenario);

}  // namespace forebay::test
