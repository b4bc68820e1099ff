#include "runtime/cache_folder.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "runtime/cache_entry.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/temporary_folder.hpp"

using namespace forebay;
using test::TemporaryFolder;
using test::Unprivileged;
using test::Variable;
using State = CacheFolder::Read::State;
namespace fs = std::filesystem;

namespace {

const std::string kName = cache_entry::name_of("some material");

std::unique_ptr<CacheFolder> opened(const fs::path& path) {
  CacheFolder::Opened opened = CacheFolder::open(path, CacheFolder::Missing::make);
  INFO(opened.problem);
  REQUIRE(opened.folder != nullptr);
  CHECK(opened.problem.empty());
  return std::move(opened.folder);
}

std::string refusal(const fs::path& path,
                    CacheFolder::Missing missing = CacheFolder::Missing::make) {
  const CacheFolder::Opened opened = CacheFolder::open(path, missing);
  CHECK(opened.folder == nullptr);
  CHECK(opened.problem.find("'" + path.parent_path().string()) == 0);
  return opened.problem;
}

unsigned mode(const fs::path& path) {
  struct stat is {};
  REQUIRE(::lstat(path.c_str(), &is) == 0);
  return is.st_mode & 07777;
}

std::size_t files_in(const fs::path& path) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
}

}  // namespace

TEST_CASE("the folder lies where XDG and HOME say, and nowhere without them") {
  const auto folder = [](const std::optional<std::string>& xdg,
                         const std::optional<std::string>& home) {
    const Variable first("XDG_CACHE_HOME", xdg);
    const Variable second("HOME", home);
    return default_cache_folder().string();
  };
  CHECK(folder("/x", "/h") == "/x/forebay");
  CHECK(folder({}, "/h") == "/h/.cache/forebay");
  CHECK(folder("", "/h") == "/h/.cache/forebay");
  CHECK(folder("relative", "/h") == "/h/.cache/forebay");
  CHECK(folder({}, {}).empty());
  CHECK(folder("relative", "").empty());
  CHECK(folder({}, "relative").empty());
}

TEST_CASE("a folder and the one around it are made private, and no more than these") {
  const TemporaryFolder top;
  const fs::path path = top.path() / "a" / "b";
  (void)opened(path);
  CHECK(mode(path) == 0700);
  CHECK(mode(path.parent_path()) == 0700);
  (void)opened(path);
  CHECK(refusal(top.path() / "x" / "y" / "z").find("No such file") != std::string::npos);
  CHECK_FALSE(fs::exists(top.path() / "x"));
  const auto looked = CacheFolder::open(top.path() / "c", CacheFolder::Missing::refuse);
  CHECK(looked.folder == nullptr);
  CHECK(looked.absent);
  CHECK_FALSE(fs::exists(top.path() / "c"));
}

TEST_CASE("a folder that others may write to is refused") {
  const TemporaryFolder top;
  const fs::path path = top.path() / "cache";
  for (const unsigned bad : {0770U, 0707U, 0777U, 01777U}) {
    fs::create_directory(path);
    REQUIRE(::chmod(path.c_str(), bad) == 0);
    CHECK(refusal(path) == "'" + path.string() + "': others may write to it");
  }
  REQUIRE(::chmod(path.c_str(), 0755) == 0);  // others may look
  (void)opened(path);
}

TEST_CASE("somebody else's folder is refused") {
  if (::geteuid() != 0) {
    std::printf("SKIPPED: only root can give a folder to somebody else\n");
    return;
  }
  const TemporaryFolder top;
  const fs::path path = top.path() / "cache";
  (void)opened(path);
  REQUIRE(::chown(path.c_str(), Unprivileged::kNobody, Unprivileged::kNobody) == 0);
  CHECK(refusal(path).find("it belongs to user 65534, not to 0") != std::string::npos);
}

TEST_CASE("what is no folder, or cannot be made one, is refused") {
  const TemporaryFolder top;
  test::write_file(top.path() / "file", "text");
  CHECK(refusal(top.path() / "file").find("Not a directory") != std::string::npos);
  CHECK(refusal(top.path() / "file" / "below").find("Not a directory") != std::string::npos);
  CHECK(test::read_file(top.path() / "file") == "text");
  fs::create_symlink(top.path() / "nowhere", top.path() / "dangling");
  CHECK(refusal(top.path() / "dangling").find("No such file") != std::string::npos);
  fs::create_symlink(top.path() / "loop", top.path() / "loop");
  CHECK(refusal(top.path() / "loop").find("symbolic links") != std::string::npos);
  const std::string long_name(300, 'n');
  CHECK(refusal(top.path() / long_name).find("too long") != std::string::npos);
}

TEST_CASE("a link to a folder is followed, and what it leads to is looked at") {
  const TemporaryFolder top;
  fs::create_directory(top.path() / "real");
  fs::create_symlink(top.path() / "real", top.path() / "link");
  REQUIRE(::chmod((top.path() / "real").c_str(), 0700) == 0);
  CHECK(opened(top.path() / "link")->publish(kName, "bytes") == 0);
  CHECK(test::read_file(top.path() / "real" / kName) == "bytes");
  REQUIRE(::chmod((top.path() / "real").c_str(), 0777) == 0);
  CHECK(refusal(top.path() / "link").find("others may write") != std::string::npos);
}

TEST_CASE("nobody's folder in a home that cannot be written is no folder") {
  const TemporaryFolder top;
  REQUIRE(::chmod(top.path().c_str(), 0555) == 0);
  const Unprivileged now;
  CHECK(refusal(top.path() / "cache").find("Permission denied") != std::string::npos);
}

TEST_CASE("a file is published whole, private, and replaced at once") {
  const TemporaryFolder top;
  const auto folder = opened(top.path());
  CHECK(folder->read(kName).state == State::absent);
  const mode_t before = ::umask(0777);
  const int error = folder->publish(kName, "one");
  ::umask(before);
  CHECK(error == 0);
  CHECK(mode(top.path() / kName) == 0600);
  CHECK(folder->read(kName).bytes == "one");
  CHECK(folder->publish(kName, std::string(1 << 20, 't')) == 0);
  CHECK(folder->read(kName).bytes == std::string(1 << 20, 't'));
  CHECK(folder->publish(kName, "") == 0);
  CHECK(folder->read(kName).state == State::read);
  CHECK(files_in(top.path()) == 1);
}

TEST_CASE("what is no private file is doubtful, and reading it neither waits nor follows") {
  const TemporaryFolder top;
  const fs::path path = top.path() / kName;
  const auto folder = opened(top.path());
  const auto doubt = [&] {
    const CacheFolder::Read read = folder->read(kName);
    CHECK(read.state == State::doubtful);
    CHECK(read.bytes.empty());
    CHECK(folder->remove(kName));
    CHECK_FALSE(fs::exists(fs::symlink_status(path)));
    return read.problem;
  };
  test::write_file(top.path() / "target", "text");
  fs::create_symlink(top.path() / "target", path);
  CHECK(doubt() == "a symbolic link");
  CHECK(test::read_file(top.path() / "target") == "text");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(doubt() == "no regular file");
  fs::create_directory(path);
  CHECK(doubt() == "no regular file");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.string().size() < sizeof address.sun_path);
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(doubt() == "no regular file");
  ::close(socket);
  test::write_file(path, "text");
  REQUIRE(::chmod(path.c_str(), 0620) == 0);
  CHECK(doubt() == "others may write to it");
  test::write_file(path, "text");
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  REQUIRE(::truncate(path.c_str(), (off_t{64} << 20) + 1) == 0);
  CHECK(doubt() == "larger than any entry");
}

TEST_CASE("an empty folder in a file's place gives way, one with content stays") {
  const TemporaryFolder top;
  const auto folder = opened(top.path());
  fs::create_directory(top.path() / kName);
  CHECK(folder->publish(kName, "bytes") == 0);
  CHECK(folder->read(kName).bytes == "bytes");
  CHECK(folder->remove(kName));
  fs::create_directory(top.path() / kName);
  test::write_file(top.path() / kName / "precious", "text");
  CHECK(folder->publish(kName, "bytes") == EISDIR);
  CHECK_FALSE(folder->remove(kName));
  CHECK(test::read_file(top.path() / kName / "precious") == "text");
  CHECK(files_in(top.path()) == 1);
}

TEST_CASE("a file that this user may not read says nothing about itself, and stays") {
  const TemporaryFolder top;
  REQUIRE(opened(top.path())->publish(kName, "bytes") == 0);
  REQUIRE(::chmod((top.path() / kName).c_str(), 0) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(top.path().c_str(), Unprivileged::kNobody, Unprivileged::kNobody) == 0);
    REQUIRE(::chown((top.path() / kName).c_str(), Unprivileged::kNobody, Unprivileged::kNobody) ==
            0);
  }
  const Unprivileged now;
  CHECK(opened(top.path())->read(kName).state == State::unreadable);
}

TEST_CASE("a folder that cannot be written says so and keeps what it has") {
  const TemporaryFolder top;
  REQUIRE(opened(top.path())->publish(kName, "bytes") == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown((top.path() / kName).c_str(), Unprivileged::kNobody, Unprivileged::kNobody) ==
            0);
    REQUIRE(::chown(top.path().c_str(), Unprivileged::kNobody, Unprivileged::kNobody) == 0);
  }
  const Unprivileged now;
  REQUIRE(::chmod(top.path().c_str(), 0500) == 0);
  const auto folder = opened(top.path());
  CHECK(folder->publish(kName, "other") == EACCES);
  CHECK(folder->read(kName).bytes == "bytes");
  CHECK_FALSE(folder->remove(kName));
}

TEST_CASE("a write beyond the process's limit fails instead of ending the process") {
  const TemporaryFolder top;
  const test::Ended ended = test::in_child([&] {
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto opened = CacheFolder::open(top.path(), CacheFolder::Missing::make);
    if (opened.folder->publish(kName, std::string(4096, 'a')) != 0) return 2;
    return opened.folder->publish(kName, std::string(4097, 'b')) == EFBIG ? 0 : 3;
  });
  CHECK(ended.code == 0);
  CHECK(test::read_file(top.path() / kName) == std::string(4096, 'a'));
  CHECK(files_in(top.path()) == 1);
}

TEST_CASE("strangers' files are neither listed nor touched") {
  const TemporaryFolder top;
  const auto folder = opened(top.path());
  CHECK(folder->list().empty());
  test::write_file(top.path() / "notes.txt", "text");
  test::write_file(top.path() / ".forebay-tmp-1-2", "half");
  REQUIRE(folder->publish(kName, "bytes") == 0);
  const auto files = folder->list();
  REQUIRE(files.size() == 2);
  for (const CacheFolder::File& file : files) {
    CHECK(file.temporary == (file.name != kName));
    CHECK(file.bytes == (file.temporary ? 4 : 5));
  }
}

TEST_CASE("touching makes a file the newest, and never a link's target") {
  const TemporaryFolder top;
  const auto folder = opened(top.path());
  REQUIRE(folder->publish(kName, "bytes") == 0);
  const timespec old[] = {{1000, 0}, {1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (top.path() / kName).c_str(), old, 0) == 0);
  CHECK(folder->read(kName).used_ns == 1'000'000'000'000);
  const std::int64_t before = file_clock_ns();
  folder->touch(kName);
  CHECK(folder->read(kName).used_ns >= before);
  CHECK(folder->read(kName).used_ns <= file_clock_ns());
  const fs::path target = top.path() / "target";
  test::write_file(target, "text");
  REQUIRE(::utimensat(AT_FDCWD, target.c_str(), old, 0) == 0);
  const auto stamp = fs::last_write_time(target);
  fs::remove(top.path() / kName);
  fs::create_symlink(target, top.path() / kName);
  folder->touch(kName);
  CHECK(fs::last_write_time(target) == stamp);
}

TEST_CASE("a reader beside a writer of the same entry never sees half of one") {
  const TemporaryFolder top;
  const auto folder = opened(top.path());
  const std::string one = cache_entry::encode("some material", std::string(5000, '1'));
  const std::string two = cache_entry::encode("some material", std::string(9000, '2'));
  REQUIRE(folder->publish(kName, one) == 0);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 10'000; ++i) {
      if (folder->publish(kName, i % 2 == 0 ? two : one) != 0) break;
    }
    done = true;
  });
  std::size_t wrong = 0;
  std::size_t reads = 0;
  while (!done) {
    const CacheFolder::Read read = folder->read(kName);
    wrong += read.state != State::read || (read.bytes != one && read.bytes != two);
    ++reads;
  }
  writer.join();
  CHECK(wrong == 0);
  CHECK(reads > 0);
  CHECK(files_in(top.path()) == 1);
}
