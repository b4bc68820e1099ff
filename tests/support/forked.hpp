// What happens in a child process is seen from outside: ends, signals, what it wrote.
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

}  // namespace forebay::test
