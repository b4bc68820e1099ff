#include "runtime/disk_cache.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

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
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;
constexpr std::int64_t kHour = 3'600'000'000'000;

/// A cache on a folder of its own, with what it warned of.
struct FolderBench {
  explicit FolderBench(std::uint64_t max_bytes = kPlenty, std::uint32_t max_entries = 1000)
      : path(folder.path()), cache(options(max_bytes, max_entries)) {}
  explicit FolderBench(const fs::path& place, std::uint64_t max_bytes = kPlenty,
                       std::uint32_t max_entries = 1000)
      : path(place), cache(options(max_bytes, max_entries)) {}

  DiskCache::Options options(std::uint64_t max_bytes, std::uint32_t max_entries) {
    return {path, max_bytes, max_entries,
            [this](std::string_view line) { warnings.emplace_back(line); }};
  }
  /// Whether the cache has the content that `material` has in these tests.
  bool has(const std::string& material) {
    const DiskCache::Found found = cache.load(material);
    if (found.content) CHECK(*found.content == content(material));
    doubtful += found.doubtful;
    return found.content.has_value();
  }
  bool put(const std::string& material) {
    const DiskCache::Stored stored = cache.store(material, content(material));
    evicted += stored.evicted;
    return stored.written;
  }
  [[nodiscard]] fs::path file(const std::string& material) const {
    return path / cache_entry::name_of(material);
  }
  void age(const std::string& material, std::int64_t by_ns) const {
    age_file(file(material), by_ns);
  }
  static void age_file(const fs::path& file, std::int64_t by_ns) {
    const std::int64_t at = file_clock_ns() - by_ns;
    const timespec time{at / 1'000'000'000, at % 1'000'000'000};
    const timespec times[] = {time, time};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
  }
  static std::string content(const std::string& material) {
    return std::string(100, 'c') + material;
  }

  TemporaryFolder folder;
  fs::path path;
  std::vector<std::string> warnings;
  DiskCache cache;
  unsigned doubtful = 0;
  unsigned evicted = 0;
};

/// Moves this process into name spaces of its own, so that nobody else sees what it mounts and that
/// goes with it. Users other than root become one in theirs.
bool enter_own_mounts() {
  if (::unshare(CLONE_NEWNS) == 0) return true;
  const std::string self = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  test::write_file("/proc/self/setgroups", "deny");
  test::write_file("/proc/self/uid_map", self + " " + self + " 1");
  test::write_file("/proc/self/gid_map", group + " " + group + " 1");
  return true;
}

std::size_t files_below(const fs::path& path) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
}

}  // namespace

TEST_CASE("what was stored is found, by this cache and the next on the folder") {
  FolderBench bench;
  CHECK_FALSE(bench.has("a"));
  CHECK(bench.put("a"));
  CHECK(bench.has("a"));
  CHECK_FALSE(bench.has("b"));
  FolderBench next(bench.path);
  CHECK(next.has("a"));
  CHECK(bench.doubtful + next.doubtful == 0);
  CHECK(bench.warnings.empty());
}

TEST_CASE("a cache that is not used touches nothing") {
  const TemporaryFolder top;
  { const FolderBench bench(top.path() / "cache"); }
  CHECK(files_below(top.path()) == 0);
}

TEST_CASE("what is damaged is deleted, made again and right again") {
  FolderBench bench;
  REQUIRE(bench.put("a"));
  const std::string good = test::read_file(bench.file("a"));
  std::vector<std::string> damaged;
  for (std::size_t at = 0; at < good.size(); ++at) {
    damaged.push_back(good);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 0x10);
  }
  for (std::size_t part = 0; part < 16; ++part) {
    damaged.push_back(good.substr(0, good.size() * part / 16));
  }
  damaged.push_back(good + good);
  damaged.push_back(cache_entry::encode("a", "content").substr(1));
  unsigned doubtful = 0;
  for (const std::string& bad : damaged) {
    test::write_file(bench.file("a"), bad);
    CHECK_FALSE(bench.has("a"));
    CHECK(bench.doubtful == ++doubtful);
    CHECK_FALSE(fs::exists(bench.file("a")));
    CHECK_FALSE(bench.has("a"));
    CHECK(bench.doubtful == doubtful);  // it is gone, not doubted again
    CHECK(bench.put("a"));
    CHECK(bench.has("a"));
  }
  CHECK(bench.warnings.empty());
}

TEST_CASE("made from nothing is a material too") {
  FolderBench bench;
  test::write_file(bench.file(""), "damaged");
  CHECK_FALSE(bench.has(""));
  CHECK(bench.doubtful == 1);
  CHECK(bench.put(""));
  CHECK(bench.has(""));
}

TEST_CASE("a right entry in another's place is not taken for it") {
  FolderBench bench;
  REQUIRE(bench.put("a"));
  // As if the digests of both collided.
  fs::copy_file(bench.file("a"), bench.file("b"));
  CHECK_FALSE(bench.has("b"));
  CHECK(bench.doubtful == 1);
  CHECK_FALSE(fs::exists(bench.file("b")));
  CHECK(bench.has("a"));
}

TEST_CASE("links and folders in an entry's place are replaced") {
  FolderBench bench;
  test::write_file(bench.path / "target", cache_entry::encode("a", FolderBench::content("a")));
  fs::create_symlink("target", bench.file("a"));
  CHECK_FALSE(bench.has("a"));
  CHECK(bench.put("a"));
  CHECK(bench.has("a"));
  CHECK(fs::exists(bench.path / "target"));
  fs::create_directory(bench.file("b"));
  CHECK_FALSE(bench.has("b"));
  CHECK(bench.put("b"));
  CHECK(bench.has("b"));
  fs::create_symlink("target", bench.file("c"));  // written without being read before
  CHECK(bench.put("c"));
  CHECK(bench.has("c"));
  CHECK(bench.doubtful == 2);
}

TEST_CASE("a folder with content in an entry's place costs that entry alone") {
  FolderBench bench;
  fs::create_directories(bench.file("a") / "precious");
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(bench.has("a"));
    CHECK_FALSE(bench.put("a"));
  }
  CHECK(bench.doubtful == 2);
  CHECK(bench.put("b"));
  CHECK(bench.has("b"));
  CHECK(fs::exists(bench.file("a") / "precious"));
  CHECK(bench.warnings.size() == 1);
}

TEST_CASE("a rejected entry is gone") {
  FolderBench bench;
  REQUIRE(bench.put("a"));
  bench.cache.reject("a");
  bench.cache.reject("b");
  CHECK_FALSE(bench.has("a"));
  CHECK(bench.doubtful == 0);
}

TEST_CASE("the least recently used entries go first, an eighth beyond the limit") {
  FolderBench bench(kPlenty, 16);
  for (int i = 0; i < 16; ++i) {
    REQUIRE(bench.put(std::to_string(i)));
    bench.age(std::to_string(i), (20 - i) * kHour);
  }
  CHECK(bench.evicted == 0);
  CHECK(bench.has("0"));  // which makes it the newest
  CHECK(bench.put("new"));
  CHECK(bench.evicted == 3);  // 17 are there, 14 stay
  CHECK(files_below(bench.path) == 14);
  for (const char* gone : {"1", "2", "3"}) CHECK_FALSE(bench.has(gone));
  for (const char* kept : {"0", "4", "15", "new"}) CHECK(bench.has(kept));
}

TEST_CASE("bytes are bounded, and what alone exceeds the bound is not written") {
  const std::string name(7, 'n');
  const std::uint64_t each =
      cache_entry::kHeaderBytes + 8 + FolderBench::content(name + "0").size();
  FolderBench bench(20 * each, 1000);
  std::uint64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(bench.put(name + static_cast<char>('0' + i)));
    std::uint64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(bench.path)) bytes += file.file_size();
    most = std::max(most, bytes);
  }
  CHECK(most == 20 * each);
  CHECK(bench.evicted > 0);
  CHECK_FALSE(bench.cache.store("large", std::string(20 * each, 'l')).written);
  CHECK(bench.warnings.empty());
}

TEST_CASE("what other processes wrote counts too") {
  FolderBench bench(kPlenty, 48);
  REQUIRE(bench.put("first"));
  FolderBench other(bench.path, kPlenty, 1000);
  for (int i = 0; i < 40; ++i) REQUIRE(other.put(std::to_string(i)));
  for (int i = 0; i < 31; ++i) REQUIRE(bench.put("mine" + std::to_string(i)));
  CHECK(bench.evicted == 0);
  CHECK(files_below(bench.path) == 72);
  REQUIRE(bench.put("last"));  // the 32nd after the first, with which it counts again
  CHECK(bench.evicted == 73 - 42);
  CHECK(files_below(bench.path) == 42);
}

TEST_CASE("what was just written stays, and what cannot be removed is not counted as evicted") {
  FolderBench bench(kPlenty, 16);
  for (int i = 0; i < 16; ++i) {
    REQUIRE(bench.put(std::to_string(i)));
    bench.age(std::to_string(i), -(i + 1) * kHour / 2);  // by a clock that is ahead
  }
  fs::remove(bench.file("0"));
  fs::create_directories(bench.file("0") / "precious");
  bench.age("0", kHour);
  CHECK(bench.put("new"));
  CHECK(fs::exists(bench.file("new")));
  CHECK(fs::exists(bench.file("0") / "precious"));
  CHECK(bench.evicted == 2);  // of three that had to go
  CHECK(files_below(bench.path) == 15);
}

TEST_CASE("stamps from the future grow old first, those a little ahead do not") {
  FolderBench bench(kPlenty, 16);
  for (int i = 0; i < 16; ++i) {
    REQUIRE(bench.put(std::to_string(i)));
    bench.age(std::to_string(i), (16 - i) * kHour);
  }
  bench.age("15", -24 * 365 * kHour);  // made before the clock was set back by a year
  bench.age("0", -kHour);              // made by a machine whose clock is ahead
  CHECK(bench.put("new"));
  CHECK(bench.evicted == 3);
  for (const char* gone : {"15", "1", "2"}) CHECK_FALSE(fs::exists(bench.file(gone)));
  CHECK(fs::exists(bench.file("0")));
  bench.age("3", -24 * 365 * kHour);
  CHECK(bench.has("3"));  // which brings its stamp back to now
  const auto stamp = fs::last_write_time(bench.file("3"));
  CHECK(stamp <= fs::file_time_type::clock::now());
}

TEST_CASE("files of writers that were killed are swept when they are old, and never read") {
  FolderBench bench;
  const fs::path old = bench.path / ".forebay-tmp-1-2-3-4";
  const fs::path fresh = bench.path / ".forebay-tmp-5-6-7-8";
  const fs::path future = bench.path / ".forebay-tmp-9-9-9-9";
  for (const fs::path& file : {old, fresh, future}) test::write_file(file, "half an entry");
  test::write_file(bench.path / "notes.txt", "text");
  FolderBench::age_file(old, kHour);
  FolderBench::age_file(future, -48 * kHour);
  FolderBench::age_file(bench.path / "notes.txt", 1000 * kHour);
  CHECK(bench.put("a"));
  CHECK_FALSE(fs::exists(old));
  CHECK_FALSE(fs::exists(future));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(bench.path / "notes.txt"));
}

TEST_CASE("a cache that is cleared or removed while in use goes on") {
  FolderBench bench;
  REQUIRE(bench.put("a"));
  fs::remove(bench.file("a"));
  CHECK_FALSE(bench.has("a"));
  CHECK(bench.put("a"));
  const TemporaryFolder top;
  FolderBench in_folder(top.path() / "cache");
  REQUIRE(in_folder.put("a"));
  fs::remove_all(in_folder.path);
  CHECK_FALSE(in_folder.has("a"));
  CHECK(in_folder.put("a"));  // into a folder made anew
  CHECK(in_folder.has("a"));
  CHECK(fs::exists(in_folder.file("a")));
  CHECK(bench.doubtful + in_folder.doubtful == 0);
  CHECK(bench.warnings.empty());
  CHECK(in_folder.warnings.empty());
}

TEST_CASE("without a folder to be had, nothing is kept and one line says so") {
  const TemporaryFolder top;
  test::write_file(top.path() / "file", "text");
  const auto check = [](FolderBench& bench, const char* says) {
    for (int i = 0; i < 3; ++i) {
      CHECK_FALSE(bench.put("a"));
      CHECK_FALSE(bench.has("a"));
      bench.cache.reject("a");
    }
    CHECK(bench.doubtful == 0);
    REQUIRE(bench.warnings.size() == 1);
    INFO(bench.warnings[0]);
    CHECK(bench.warnings[0].find(says) != std::string::npos);
  };
  FolderBench file(top.path() / "file" / "cache");
  check(file, "Not a directory");
  FolderBench missing(top.path() / "a" / "b" / "c");
  check(missing, "No such file");
  fs::create_directory(top.path() / "open");
  fs::permissions(top.path() / "open", fs::perms::all);
  FolderBench open(top.path() / "open");
  check(open, "others may write to it");
  const Variable xdg("XDG_CACHE_HOME", {});
  {
    const Variable home("HOME", {});
    FolderBench homeless{fs::path()};
    check(homeless, "neither XDG_CACHE_HOME nor HOME");
  }
  const Variable home("HOME", "/nonexistent/home");
  FolderBench lost{fs::path()};
  check(lost, "/nonexistent/home/.cache");
  CHECK_FALSE(fs::exists("/nonexistent"));
}

TEST_CASE(
    "a folder that may not be written still serves, and one line says that it grows no more") {
  FolderBench bench;
  REQUIRE(bench.put("a"));
  if (::geteuid() == 0) {
    for (const fs::path& file : {bench.file("a"), bench.path}) {
      REQUIRE(::chown(file.c_str(), Unprivileged::kNobody, Unprivileged::kNobody) == 0);
    }
  }
  const Unprivileged now;
  REQUIRE(::chmod(bench.path.c_str(), 0500) == 0);
  FolderBench next(bench.path);
  CHECK(next.has("a"));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(next.put("b"));
  CHECK(next.has("a"));
  REQUIRE(next.warnings.size() == 1);
  CHECK(next.warnings[0] == "'" + bench.path.string() + "' cannot be written: Permission denied");
  REQUIRE(::chmod(bench.path.c_str(), 0700) == 0);
  CHECK_FALSE(next.put("b"));  // for good
}

TEST_CASE("beyond the process's limit on files nothing is written, with one line") {
  FolderBench bench;
  const test::Ended ended = test::in_child([&] {
    const rlimit limit{100, 100};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (bench.put("a") || bench.put("b") || bench.has("a")) return 2;
    return bench.warnings.size() == 1 &&
                   bench.warnings[0].find("File too large") != std::string::npos
               ? 0
               : 3;
  });
  CHECK(ended.code == 0);
  CHECK(files_below(bench.path) == 0);
}

TEST_CASE("a full disk ends the writing with one line, and what is there stays right") {
  const TemporaryFolder top;
  constexpr int kNoMount = 77;
  const test::Ended ended = test::in_child([&] {
    if (!enter_own_mounts()) return kNoMount;
    (void)::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("none", top.path().c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0) {
      return kNoMount;
    }
    FolderBench bench(top.path() / "cache");
    const std::string large(60'000, 'x');
    int written = 0;
    while (bench.cache.store(std::to_string(written), large).written) ++written;
    if (written < 2 || written > 4) return 1;
    if (bench.warnings.size() != 1) return 2;
    if (bench.warnings[0].find("No space left") == std::string::npos) return 3;
    for (int i = 0; i < written; ++i) {
      if (bench.cache.load(std::to_string(i)).content != large) return 4;
    }
    if (files_below(bench.path) != static_cast<std::size_t>(written)) return 5;
    if (bench.put("small") || bench.warnings.size() != 1) return 6;
    return 0;
  });
  if (ended.code == kNoMount) {
    std::printf("SKIPPED: no file system can be mounted here\n");
    return;
  }
  INFO(ended.err);
  CHECK(ended.code == 0);
}

TEST_CASE("threads share a cache") {
  FolderBench bench(kPlenty, 32);
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const std::string material = std::to_string((i * 7 + t) % 50);
        const DiskCache::Found found = bench.cache.load(material);
        wrong +=
            found.doubtful || (found.content && *found.content != FolderBench::content(material));
        if (!found.content) (void)bench.cache.store(material, FolderBench::content(material));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(files_below(bench.path) <= 32);
  CHECK(bench.warnings.empty());
}

TEST_CASE("a cache that somebody clears all the time loses entries and nothing else") {
  FolderBench bench;
  std::atomic<bool> done{false};
  std::thread clearing([&] {
    const auto folder = CacheFolder::open(bench.path, CacheFolder::Missing::refuse).folder;
    while (!done) {
      for (const CacheFolder::File& file : folder->list()) (void)folder->remove(file.name);
    }
  });
  unsigned written = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string material = std::to_string(i % 40);
    if (!bench.has(material)) written += bench.put(material);
  }
  done = true;
  clearing.join();
  CHECK(written > 0);
  CHECK(bench.doubtful == 0);
  CHECK(bench.warnings.empty());
  CHECK(bench.put("after"));
  CHECK(bench.has("after"));
}
