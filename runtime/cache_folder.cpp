#include "runtime/cache_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "runtime/cache_entry.hpp"

namespace forebay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".forebay-tmp-";
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

fs::path variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

std::string reason(const std::string& path, int error) {
  return "'" + path + "': " + std::strerror(error);
}

/// Empty, or why neither the folder nor the one around it could be made.
std::string make_folders(const fs::path& path) {
  for (const fs::path& made : {path.parent_path(), path}) {
    if (::mkdir(made.c_str(), kFolderMode) == 0 || errno == EEXIST) continue;
    // Others say so where a folder is there already: read-only file systems, automounters.
    const int error = errno;
    struct stat is {};
    if (::stat(made.c_str(), &is) == 0 && S_ISDIR(is.st_mode)) continue;
    return reason(made.string(), error);
  }
  return {};
}

/// Why nobody should trust a folder or a file, empty if nothing speaks against it.
std::string mistrust(const struct stat& is, const char* what) {
  if (is.st_uid != ::geteuid()) {
    return std::string(what) + " belongs to user " + std::to_string(is.st_uid) + ", not to " +
           std::to_string(::geteuid());
  }
  if ((is.st_mode & kOthersWrite) != 0) return "others may write to " + std::string(what);
  return {};
}

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      return written == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}

/// The first `size` bytes of a file, fewer where it has become shorter meanwhile.
int read_all(int descriptor, std::size_t size, std::string& bytes) {
  bytes.resize(size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return errno;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return 0;
}

/// Marks a file below a folder, or the file itself without a name, as used now. Not with UTIME_NOW,
/// which is the file server's clock: eviction compares with this machine's.
void stamp(int descriptor, const char* name) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const timespec times[] = {now, now};
  (void)(name == nullptr ? ::futimens(descriptor, times)
                         : ::utimensat(descriptor, name, times, AT_SYMLINK_NOFOLLOW));
}

/// Writing beyond the process's own limit would raise SIGXFSZ, which ends most processes.
bool beyond_limit(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         bytes > limit.rlim_cur;
}

/// Differs between all writers of a folder, also of other machines and process name spaces: the
/// clock and an address of this process stand beside its number.
std::string temporary_name() {
  static std::atomic<unsigned> next{0};
  char name[96];
  std::snprintf(name, sizeof name, "%s%ld-%llx-%llx-%u", kTemporary.data(),
                static_cast<long>(::getpid()), static_cast<unsigned long long>(file_clock_ns()),
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(&next) >> 12),
                next.fetch_add(1, std::memory_order_relaxed));
  return name;
}

}  // namespace

fs::path default_cache_folder() {
  // A relative path in it must be ignored, says the XDG specification.
  if (const fs::path base = variable("XDG_CACHE_HOME"); base.is_absolute()) return base / "forebay";
  if (const fs::path home = variable("HOME"); home.is_absolute()) return home / ".cache/forebay";
  return {};
}

std::int64_t file_clock_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

CacheFolder::Opened CacheFolder::open(const fs::path& path, Missing missing) {
  Opened opened;
  if (missing == Missing::make) opened.problem = make_folders(path);
  if (!opened.problem.empty()) return opened;
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat is {};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &is) != 0) {
    opened.absent = errno == ENOENT;
    opened.problem = reason(path.string(), errno);
  } else if (const std::string why = mistrust(is, "it"); !why.empty()) {
    opened.problem = "'" + path.string() + "': " + why;
  } else {
    opened.folder.reset(new CacheFolder(descriptor.release()));
  }
  return opened;
}

CacheFolder::~CacheFolder() { ::close(descriptor_); }

CacheFolder::Read CacheFolder::read(const std::string& name) const {
  using State = Read::State;
  const auto failed = [](State state, std::string problem) {
    Read read;
    read.state = state;
    read.problem = std::move(problem);
    return read;
  };
  const Descriptor file(
      ::openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return {};
    if (errno == ELOOP) return failed(State::doubtful, "a symbolic link");
    if (errno == ENXIO) return failed(State::doubtful, "no regular file");  // a socket
    return failed(State::unreadable, std::strerror(errno));
  }
  struct stat is {};
  if (::fstat(file.get(), &is) != 0) return failed(State::unreadable, std::strerror(errno));
  if (!S_ISREG(is.st_mode)) return failed(State::doubtful, "no regular file");
  if (std::string why = mistrust(is, "it"); !why.empty()) return failed(State::doubtful, why);
  const auto size = static_cast<std::uint64_t>(is.st_size);
  if (size > cache_entry::kMaxBytes) return failed(State::doubtful, "larger than any entry");
  Read read;
  if (const int error = read_all(file.get(), size, read.bytes); error != 0) {
    return failed(State::unreadable, std::strerror(error));
  }
  read.state = State::read;
  read.used_ns = nanoseconds(is.st_mtim);
  return read;
}

int CacheFolder::publish(const std::string& name, std::string_view bytes) const {
  if (beyond_limit(bytes.size())) return EFBIG;
  const std::string temporary = temporary_name();
  Descriptor file(::openat(descriptor_, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (file.get() < 0) return errno;
  int error = write_all(file.get(), bytes);
  // A umask may have taken the owner's bits too.
  if (error == 0 && ::fchmod(file.get(), kFileMode) != 0) error = errno;
  stamp(file.get(), nullptr);
  // Quotas and network file systems may refuse as late as here.
  if (::close(file.release()) != 0 && error == 0 && errno != EINTR) error = errno;
  const auto move = [&] {
    return ::renameat(descriptor_, temporary.c_str(), descriptor_, name.c_str()) == 0 ? 0 : errno;
  };
  if (error == 0) error = move();
  if (error == EISDIR && remove(name)) error = move();
  if (error != 0) ::unlinkat(descriptor_, temporary.c_str(), 0);
  return error;
}

void CacheFolder::touch(const std::string& name) const noexcept {
  stamp(descriptor_, name.c_str());
}

bool CacheFolder::remove(const std::string& name) const noexcept {
  if (::unlinkat(descriptor_, name.c_str(), 0) == 0) return true;
  return (errno == EISDIR || errno == EPERM) &&
         ::unlinkat(descriptor_, name.c_str(), AT_REMOVEDIR) == 0;
}

std::vector<CacheFolder::File> CacheFolder::list() const {
  std::vector<File> files;
  // A position of its own, which a duplicate of the descriptor would share between threads.
  Descriptor own(::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const entries = own.get() < 0 ? nullptr : ::fdopendir(own.get());
  if (entries == nullptr) return files;
  const std::unique_ptr<DIR, int (*)(DIR*)> closed_at_end(entries, ::closedir);
  (void)own.release();
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    const bool temporary = name.substr(0, kTemporary.size()) == kTemporary;
    struct stat is {};
    if ((!temporary && !cache_entry::is_name(name)) ||
        ::fstatat(descriptor_, entry->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    files.push_back({std::string(name), static_cast<std::uint64_t>(is.st_size),
                     nanoseconds(is.st_mtim), temporary});
  }
  return files;
}

}  // namespace forebay
