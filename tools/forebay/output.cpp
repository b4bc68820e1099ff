#include "tools/forebay/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "forebay/pool/error.hpp"
#include "tools/forebay/command.hpp"

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

bool OutputFile::is_same_file(const OutputFile& other) const {
  struct stat mine {};
  struct stat theirs {};
  return wanted() && other.wanted() && ::fstat(descriptor_, &mine) == 0 &&
         ::fstat(other.descriptor_, &theirs) == 0 && mine.st_dev == theirs.st_dev &&
         mine.st_ino == theirs.st_ino;
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

void require_distinct(std::initializer_list<NamedOutput> outputs) {
  for (const NamedOutput& second : outputs) {
    for (const NamedOutput& first : outputs) {
      if (&first == &second) break;
      if (!first.file.is_same_file(second.file)) continue;
      throw UsageError(std::string(first.option) + " '" + first.name + "' and " + second.option +
                       " '" + second.name + "' are the same file; give each a file of its own");
    }
  }
}

void fill_standard_descriptors() noexcept {
  // The lowest free descriptor is the one that open takes.
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

void flush_standard_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(
      "not all of standard output could be written; make room where it goes, or send it elsewhere");
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which terminals obey too, are C2 80 to C2 9F.
    const bool wide = byte == 0xC2 && i + 1 < text.size() &&
                      static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                      static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte >= 0x20 && byte != 0x7F && !wide) {
      result += text[i];
      continue;
    }
    char escape[5];
    const unsigned code = wide ? static_cast<unsigned char>(text[++i]) : byte;
    std::snprintf(escape, sizeof escape, "\\x%02x", code);
    result += escape;
  }
  return result;
}

}  // namespace forebay::tools
