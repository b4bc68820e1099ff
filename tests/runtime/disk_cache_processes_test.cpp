// The cache on disk under many processes at once, some of which are killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "runtime/cache_entry.hpp"
#include "runtime/disk_cache.hpp"
#include "tests/runtime/temporary_folder.hpp"

using namespace forebay;
namespace fs = std::filesystem;

namespace {

constexpr int kProcesses = 16;
constexpr int kMaterials = 50;

std::string content_of(int number) {
  return std::string(static_cast<std::size_t>(2000 + 400 * number),
                     static_cast<char>('a' + number % 26));
}

DiskCache cache_in(const fs::path& folder, std::uint32_t entries, bool& warned) {
  return DiskCache(
      {folder, std::uint64_t{1} << 30, entries, [&warned](std::string_view) { warned = true; }});
}

/// Uses the cache as a program does, `rounds` times each material or for ever; 0 if nothing was
/// wrong.
int use(const fs::path& folder, unsigned seed, int rounds, std::uint32_t entries) {
  bool warned = false;
  DiskCache cache = cache_in(folder, entries, warned);
  std::minstd_rand random(seed);
  for (int i = 0; rounds == 0 || i < rounds * kMaterials; ++i) {
    const int number = static_cast<int>(random() % kMaterials);
    const std::string material = "material " + std::to_string(number);
    const DiskCache::Found found = cache.load(material);
    if (found.doubtful) return 1;
    if (found.content && *found.content != content_of(number)) return 2;
    // Half of what is there is written again, so that writers meet.
    if (!found.content || random() % 2 == 0) (void)cache.store(material, content_of(number));
    if (warned) return 3;
  }
  return 0;
}

pid_t start(const fs::path& folder, unsigned seed, int rounds, std::uint32_t entries) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    int code = 99;
    try {
      code = use(folder, seed, rounds, entries);
    } catch (...) {
    }
    ::_exit(code);
  }
  REQUIRE(child > 0);
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Checks every file of a folder; returns how many entries there are.
std::size_t all_right(const fs::path& folder) {
  std::size_t entries = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename();
    if (!cache_entry::is_name(name)) {
      CHECK(name.find(".forebay-tmp-") == 0);
      continue;
    }
    ++entries;
    const std::string bytes = test::read_file(file.path());
    const cache_entry::Parts parts = cache_entry::check(bytes);
    CHECK(parts.problem.empty());
    CHECK(cache_entry::name_of(parts.material) == name);
  }
  return entries;
}

}  // namespace

TEST_CASE("16 processes fill an empty folder, and none sees anything wrong") {
  const test::TemporaryFolder folder;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kProcesses; ++i) {
    children.push_back(start(folder.path() / "cache", i + 1, 4, 1000));
  }
  for (const pid_t child : children) CHECK(end_of(child) == 0);
  CHECK(all_right(folder.path() / "cache") == kMaterials);
}

TEST_CASE("processes killed while they write leave nothing wrong, and no lock") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "cache";
  std::minstd_rand random(42);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 8; ++i) children.push_back(start(path, i + 1, 20, 30));
  for (unsigned killed = 0; killed < 24; ++killed) {
    const pid_t victim = start(path, 100 + killed, 0, 30);
    ::usleep(static_cast<useconds_t>(2000 + random() % 8000));
    REQUIRE(::kill(victim, SIGKILL) == 0);
    CHECK(end_of(victim) == 128 + SIGKILL);
  }
  for (const pid_t child : children) CHECK(end_of(child) == 0);
  CHECK(all_right(path) > 0);
  // Whoever comes next finds the bound kept, sweeps what the killed left, and is not stopped.
  for (const auto& file : fs::directory_iterator(path)) {
    fs::last_write_time(file.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  CHECK(use(path, 7, 1, 30) == 0);
  CHECK(all_right(path) <= 30);
  for (const auto& file : fs::directory_iterator(path)) {
    CHECK(cache_entry::is_name(file.path().filename().string()));
  }
}
