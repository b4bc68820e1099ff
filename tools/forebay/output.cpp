#include "tools/forebay/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "forebay/pool/error.hpp"
#include "tools/forebay/command.hpp"

namespace forebay::tools {

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path_.empty() || is_standard_output()) return;
  if (const int error = target_.open(path_); error != 0) fail(error);
}

std::optional<pool::FileIdentity> OutputFile::identity() const {
  if (!is_standard_output()) return target_.identity();
  struct stat found {};
  if (::fstat(STDOUT_FILENO, &found) != 0) return std::nullopt;
  return pool::FileIdentity{found.st_dev, found.st_ino, {}};
}

void OutputFile::write(std::string_view text) {
  if (!wanted()) return;
  if (is_standard_output()) std::fflush(stdout);
  const int error =
      is_standard_output() ? pool::write_all(STDOUT_FILENO, text) : target_.write(text);
  if (error != 0) fail(error);
}

void OutputFile::fail(int error) const {
  throw Error("cannot write '" + path_ + "': " + std::strerror(error) +
              "; name a file in a folder that you may write to, or - for standard output");
}

void require_distinct(std::initializer_list<NamedOutput> outputs,
                      std::initializer_list<NamedInput> inputs) {
  for (const NamedOutput& second : outputs) {
    const auto identity = second.file.identity();
    if (!identity) continue;
    const std::string named = std::string(second.option) + " '" + second.name + "'";
    for (const NamedInput& input : inputs) {
      if (pool::regular_file(input.name) != identity) continue;
      throw UsageError(named + " is the file that " + input.option + " '" + input.name +
                       "' reads; give each a file of its own");
    }
    for (const NamedOutput& first : outputs) {
      if (&first == &second) break;
      if (first.file.identity() != identity) continue;
      throw UsageError(std::string(first.option) + " '" + first.name + "' and " + named +
                       " are the same file; give each a file of its own");
    }
  }
}

void fill_standard_descriptors() noexcept {
  // The lowest free descriptor is the one that open takes. One that cannot be written makes what
  // is meant for a closed standard output a failure.
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    const int how = descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    static_cast<void>(::open("/dev/null", how));
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
