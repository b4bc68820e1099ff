#include "tests/support/forked.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <stdexcept>

namespace forebay::test {

namespace {
constexpr int kThrew = 99;
constexpr unsigned kHangSeconds = 60;
}  // namespace

Ended in_child(const std::function<int()>& body) {
  std::array<int, 2> err{};
  if (pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) {
    alarm(kHangSeconds);
    // A crash is the parent's to judge, not the test framework's to print.
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(signal, SIG_DFL);
    dup2(err[1], STDERR_FILENO);
    int code = kThrew;
    try {
      code = body();
    } catch (const std::exception& error) {
      const std::string what = std::string("threw: ") + error.what() + "\n";
      [[maybe_unused]] const auto written = write(STDERR_FILENO, what.data(), what.size());
    }
    _exit(code);
  }
  close(err[1]);
  Ended ended;
  std::array<char, 4096> buffer{};
  for (ssize_t got; (got = read(err[0], buffer.data(), buffer.size())) > 0;) {
    ended.err.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(err[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace forebay::test
