#include "tests/tools/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace forebay::test {
namespace {

struct Channel {
  int read = -1;
  int write = -1;
};

Channel make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

Channel make_terminal() {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) {
    throw std::runtime_error("no terminal");
  }
  return {master, ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC)};
}

/// Reads both until both have ended, so that a child never waits for us to empty one of them.
void drain(int out, std::string& out_text, int err, std::string& err_text) {
  std::array<pollfd, 2> polled{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::array<std::string*, 2> texts{&out_text, &err_text};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(polled[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        polled[i].fd = -1;  // a terminal ends with an error, a pipe with nothing
      }
    }
  }
}

Outcome run(const std::string& program, const std::vector<std::string>& words, bool terminal,
            const std::string* out_file = nullptr) {
  const std::string path =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
  std::vector<char*> arguments{const_cast<char*>(path.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const Channel out = make_pipe();
  const Channel err = terminal ? make_terminal() : make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) {
    const bool closed = out_file != nullptr && out_file->empty();
    ::dup2(
        out_file == nullptr || closed ? out.write : ::open(out_file->c_str(), O_WRONLY | O_CLOEXEC),
        STDOUT_FILENO);
    if (closed) ::close(STDOUT_FILENO);
    ::dup2(err.write, STDERR_FILENO);
    ::execv(path.c_str(), arguments.data());
    ::_exit(127);
  }
  ::close(out.write);
  ::close(err.write);
  Outcome outcome;
  drain(out.read, outcome.out, err.read, outcome.err);
  ::close(out.read);
  ::close(err.read);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace

Outcome run_forebay(const std::vector<std::string>& words, bool terminal) {
  return run("forebay", words, terminal);
}
Outcome run_forebay_into(const std::string& file, const std::vector<std::string>& words) {
  return run("forebay", words, false, &file);
}
Outcome run_beside(const std::string& program, const std::vector<std::string>& words) {
  return run(program, words, false);
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "forebay-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder");
  path_ = name;
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::string Folder::with(const std::string& name, const std::string& text) const {
  std::ofstream(file(name)) << text;
  return file(name);
}
std::string Folder::read(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace forebay::test
