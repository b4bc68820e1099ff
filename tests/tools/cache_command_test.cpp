#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/cache_entry.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/kernel_key.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using namespace forebay;
using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;
namespace fs = std::filesystem;

namespace {

std::string material(int number) {
  return material_of({"kernel_" + std::to_string(number), "sm_90", "NVRTC 13.0 1 2.3", "", "text"});
}

/// A folder with kernels 0 to `count` - 1.
void fill(const std::string& folder, int count) {
  DiskCache cache({folder, std::uint64_t{1} << 20, 1000, {}});
  for (int i = 0; i < count; ++i) REQUIRE(cache.store(material(i), "cubin").written);
}

std::string file_of(const std::string& folder, int number) {
  return folder + "/" + cache_entry::name_of(material(number));
}

Outcome cache(const char* what, const std::string& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"cache", what, "--folder", folder};
  words.insert(words.end(), more.begin(), more.end());
  return run_forebay(words);
}

void check_refused(const Outcome& outcome, int code, const std::string& says) {
  INFO(outcome.err);
  CHECK(outcome.code == code);
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(outcome.err.find(says) != std::string::npos);
}

}  // namespace

TEST_CASE("cache ls shows the kernels as a table and as JSON") {
  const Folder top;
  const std::string folder = top.file("kernels");
  fill(folder, 3);
  const Outcome table = cache("ls", folder, {"--json", top.file("ls.json")});
  CHECK(table.code == 0);
  CHECK(table.err.empty());
  CHECK(forebay::test::lines(table.out) == 5);
  CHECK(table.out.find("kernel_2\n") != std::string::npos);
  CHECK(table.out.find("3 of 4096 kernels, ") != std::string::npos);
  const Outcome alone = cache("ls", folder, {"--json"});
  CHECK(alone.out == Folder::read(top.file("ls.json")));
  const JsonDocument json(alone.out, "output");
  CHECK(json.size("/kernels") == 3);
  CHECK(json.text("/kernels/0/architecture") == "sm_90");
  CHECK(json.text("/folder") == folder);
}

TEST_CASE("cache verify says what is right, and has a line for each file that is not") {
  const Folder top;
  const std::string folder = top.file("kernels");
  fill(folder, 4);
  const Outcome right = cache("verify", folder);
  CHECK(right.code == 0);
  CHECK(right.out == "4 kernels are right\n");
  CHECK(right.err.empty());

  fs::resize_file(file_of(folder, 0), 100);
  {
    std::fstream file(file_of(folder, 1), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('!');
  }
  fs::remove(file_of(folder, 2));
  fs::create_symlink("/etc/passwd", file_of(folder, 2));
  const Outcome wrong = cache("verify", folder);
  CHECK(forebay::test::lines(wrong.out) == 4);
  for (const auto& [number, problem] :
       {std::pair(0, "cut off: 100 of "), std::pair(1, "damaged content\n"),
        std::pair(2, "a symbolic link\n")}) {
    INFO(wrong.out);
    CHECK(wrong.out.find(cache_entry::name_of(material(number)) + ": " + problem) !=
          std::string::npos);
  }
  CHECK(wrong.out.find("1 kernel is right\n") != std::string::npos);
  check_refused(wrong, 1, "3 of 4 files in '" + folder + "' are wrong");
  CHECK(fs::exists(file_of(folder, 0)));  // it only looks
}

TEST_CASE("another version's entries are no mistake") {
  const Folder top;
  const std::string folder = top.file("kernels");
  fill(folder, 2);
  std::string bytes = Folder::read(file_of(folder, 0));
  bytes[8] = 2;
  const Digest digest = digest_of(bytes.substr(0, 80));
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[80 + i] = static_cast<char>(digest.low >> (8 * i));
    bytes[88 + i] = static_cast<char>(digest.high >> (8 * i));
  }
  std::ofstream(file_of(folder, 0), std::ios::binary) << bytes;
  const Outcome outcome = cache("verify", folder);
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "1 kernel is right, 1 of another version not checked\n");
  CHECK(cache("ls", folder).out.find("schema 2, not 1") != std::string::npos);
}

TEST_CASE("cache clear removes what is the cache's, and nothing else") {
  const Folder top;
  const std::string folder = top.file("kernels");
  fill(folder, 3);
  std::ofstream(folder + "/.forebay-tmp-1-2") << "half";
  std::ofstream(folder + "/notes.txt") << "text";
  const Outcome cleared = cache("clear", folder);
  CHECK(cleared.code == 0);
  CHECK(cleared.out.find("removed 4 files, ") == 0);
  CHECK(cleared.out.find(" from '" + folder + "'\n") != std::string::npos);
  CHECK(fs::exists(folder + "/notes.txt"));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  CHECK(cache("clear", folder).out.find("removed 0 files") == 0);
  fs::create_directories(file_of(folder, 1) + "/below");
  check_refused(cache("clear", folder), 1, "1 file in '" + folder + "' cannot be removed");
}

TEST_CASE("a cache that nobody has used is empty, and looking at it makes none") {
  const Folder top;
  const std::string folder = top.file("none");
  CHECK(cache("ls", folder).out.find("0 of 4096 kernels, 0 B of 256 MiB in '") == 0);
  CHECK(JsonDocument(cache("ls", folder, {"--json"}).out, "output").size("/kernels") == 0);
  CHECK(cache("verify", folder).out == "0 kernels are right\n");
  CHECK(cache("clear", folder).out.find("removed 0 files") == 0);
  CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("the configuration and the environment place the cache") {
  const Folder top;
  const std::string folder = top.file("kernels");
  fill(folder, 2);
  const std::string config = top.with(
      "c.json", R"({"kernels": {"cache": {"folder": ")" + folder + R"(", "max_entries": 77}}})");
  const Outcome placed = run_forebay({"cache", "ls", "--config", config});
  CHECK(placed.out.find("2 of 77 kernels, ") != std::string::npos);
  // Tests have a folder of their own, see tests/support/private_cache.cpp.
  const char* const before = ::getenv("XDG_CACHE_HOME");
  REQUIRE(before != nullptr);
  const std::string mine = before;
  CHECK(run_forebay({"cache", "ls"}).out.find("'" + mine + "/forebay'\n") != std::string::npos);
  const std::string home = ::getenv("HOME") == nullptr ? "" : ::getenv("HOME");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  const Outcome nowhere = run_forebay({"cache", "ls"});
  ::setenv("XDG_CACHE_HOME", mine.c_str(), 1);
  if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
  check_refused(nowhere, 1, "--folder DIR names one");
}

TEST_CASE("a folder that is not to be trusted, or none at all, is an error of one line") {
  const Folder top;
  const std::string folder = top.file("kernels");
  fill(folder, 1);
  REQUIRE(::chmod(folder.c_str(), 0777) == 0);
  const std::string file = top.with("file", "text");
  for (const char* what : {"ls", "verify", "clear"}) {
    const Outcome open = cache(what, folder);
    CHECK(open.out.empty());
    check_refused(open, 1, "others may write to it");
    check_refused(cache(what, file), 1, "Not a directory");
    check_refused(run_forebay({"cache", what, "--config", "/no/such.json"}), 2, "/no/such.json");
    check_refused(run_forebay({"cache", what, "surplus"}), 2, "surplus");
  }
  CHECK(fs::exists(file_of(folder, 0)));
  check_refused(cache("ls", folder, {"--json", "/no/such/folder/a.json"}), 1, "/no/such/folder");
}
