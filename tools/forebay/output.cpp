#include "tools/forebay/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "forebay/pool/error.hpp"

namespace forebay::tools {

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path_.empty()) return;
  if (is_standard_output()) {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  remove_at_end_ = descriptor_ >= 0;
  if (descriptor_ < 0 && errno == EEXIST) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) fail();
}

OutputFile::~OutputFile() {
  if (!wanted() || is_standard_output()) return;
  ::close(descriptor_);
  if (remove_at_end_) ::unlink(path_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (!wanted()) return;
  if (is_standard_output()) {
    std::fflush(stdout);
  } else {
    // Pipes and devices cannot be cut, and need not be.
    if (::ftruncate(descriptor_, 0) != 0 && errno != EINVAL) fail();
  }
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (is_standard_output()) return;
  remove_at_end_ = false;
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void OutputFile::fail() const {
  const std::string reason = std::strerror(errno);
  throw Error("cannot write '" + path_ + "': " + reason +
              "; name a file in a folder that you may write to, or - for standard output");
}

}  // namespace forebay::tools
