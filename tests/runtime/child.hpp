// Child processes of tests: what happens at fork and at exit is seen from outside.
#pragma once

#include <functional>
#include <string>

namespace forebay::test {

struct Ended {
  int code = -1;    ///< exit code; 128 + the signal's number if a signal ended it
  std::string err;  ///< what it wrote to standard error
};

/// Forks, runs `body` in the child and ends it with _exit and the result of `body`, 99 if it threw.
/// A child that hangs is ended by SIGALRM after a minute.
[[nodiscard]] Ended in_child(const std::function<int()>& body);

/// Runs the program of end_program.cpp, which lies beside the tests.
[[nodiscard]] Ended run_end_program(const std::string& scenario);

}  // namespace forebay::test
