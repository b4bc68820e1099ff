#include "pool/trace/target_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace forebay::pool {
namespace {

namespace fs = std::filesystem;
using Stat = struct stat;

/// What `path` means at its end, also where that is a link to a file that is not there yet.
fs::path without_links(fs::path path) {
  constexpr int kMost = 40;  // as the system allows
  std::error_code none;
  for (int i = 0; i < kMost && fs::is_symlink(path, none); ++i) {
    const fs::path target = fs::read_symlink(path, none);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

std::string folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Makes a file in the folder of `path` under a name that nobody has; its descriptor, -1 with errno
/// set if that fails.
int make_beside(const std::string& path, std::string* name) {
  static std::atomic<unsigned> serial{0};
  constexpr int kMost = 100;
  int descriptor = -1;
  for (int i = 0; i < kMost; ++i) {
    *name = folder_of(path) + "/.forebay-" + std::to_string(::getpid()) + "-" +
            std::to_string(serial.fetch_add(1)) + ".unfinished";
    descriptor = ::open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  return descriptor;
}

int closed(int descriptor) noexcept { return ::close(descriptor) == 0 ? 0 : errno; }

int write_in_place(const std::string& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = write_all(descriptor, content);
  const int at_close = closed(descriptor);
  return error != 0 ? error : at_close;
}

/// Gives a new file the owner and the mode of an old one.
bool made_alike(int descriptor, const Stat& old) {
  Stat made{};
  if (::fstat(descriptor, &made) != 0) return false;
  const bool same_owner = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  return (same_owner || ::fchown(descriptor, old.st_uid, old.st_gid) == 0) &&
         ::fchmod(descriptor, old.st_mode & 07777U) == 0;
}

/// A descriptor of our own on standard output or error where that is this file: what is replaced
/// under them would swallow all that they are given.
int standard_stream(const Stat& file) {
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    Stat there{};
    if (::fstat(standard, &there) != 0) continue;
    if (there.st_dev != file.st_dev || there.st_ino != file.st_ino) continue;
    return ::fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  return -1;
}

}  // namespace

int write_all(int descriptor, std::string_view content) noexcept {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::optional<FileIdentity> regular_file(const std::string& path) {
  Stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino, {}};
}

TargetFile::~TargetFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int TargetFile::open(const std::string& path) {
  Stat found{};
  if (::stat(path.c_str(), &found) != 0) return errno == ENOENT ? open_new(path) : errno;
  if (S_ISREG(found.st_mode)) {
    const int probe = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (probe < 0) return errno;
    ::close(probe);
    path_ = without_links(path).string();
    exists_ = true;
    descriptor_ = standard_stream(found);
  } else {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (descriptor_ < 0) return errno;
  }
  identity_ = FileIdentity{found.st_dev, found.st_ino, {}};
  return 0;
}

int TargetFile::open_new(const std::string& path) {
  if (path.empty()) return ENOENT;
  const fs::path target = without_links(path);
  path_ = target.string();
  Stat folder{};
  if (::stat(folder_of(target).c_str(), &folder) != 0) return errno;
  if (!target.has_filename()) return EISDIR;
  std::string probe;
  const int made = make_beside(path_, &probe);
  if (made < 0) return errno;
  ::close(made);
  ::unlink(probe.c_str());
  identity_ = FileIdentity{folder.st_dev, folder.st_ino, target.filename().string()};
  return 0;
}

int TargetFile::write(std::string_view content) {
  if (descriptor_ >= 0) {
    const int error = write_all(descriptor_, content);
    const int at_close = closed(std::exchange(descriptor_, -1));
    return error != 0 ? error : at_close;
  }
  std::string unfinished;
  const int descriptor = make_beside(path_, &unfinished);
  // A file that may be written can lie in a folder that may not.
  if (descriptor < 0) return exists_ ? write_in_place(path_, content) : errno;
  const int error = replace(content, descriptor, unfinished);
  if (error != 0) ::unlink(unfinished.c_str());
  return error;
}

int TargetFile::replace(std::string_view content, int descriptor, const std::string& unfinished) {
  Stat old{};
  // Anything else that took the file's place meanwhile is not replaced.
  const bool there = ::lstat(path_.c_str(), &old) == 0;
  const bool alike = !there || (S_ISREG(old.st_mode) && made_alike(descriptor, old));
  const int error = alike ? write_all(descriptor, content) : 0;
  const int at_close = closed(descriptor);
  if (error != 0 || at_close != 0) return error != 0 ? error : at_close;
  if (alike && std::rename(unfinished.c_str(), path_.c_str()) == 0) return 0;
  const int why = errno;
  if (!there) return why;
  // Another's file, or one that is mounted there, cannot be replaced, but written.
  ::unlink(unfinished.c_str());
  return write_in_place(path_, content);
}

}  // namespace forebay::pool
