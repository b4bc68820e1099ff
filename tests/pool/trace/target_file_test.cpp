#include "pool/trace/target_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"

using namespace forebay::pool;
namespace fs = std::filesystem;

namespace {

std::string content(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A folder of its own, where the test works.
class Place {
 public:
  Place() {
    std::string name = (fs::temp_directory_path() / "forebay-target-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::string with(const char* name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream in(path_ / name);
    return content(in);
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

int put(const std::string& path, const std::string& text) {
  TargetFile target;
  const int error = target.open(path);
  return error != 0 ? error : target.write(text);
}

}  // namespace

TEST_CASE("a target keeps its old content until the new one is complete") {
  const Place place;
  const std::string path = place.with("out", "old");
  std::ifstream before(path);
  TargetFile target;
  REQUIRE(target.open(path) == 0);
  CHECK(place.read("out") == "old");
  REQUIRE(target.write("new") == 0);
  CHECK(place.read("out") == "new");
  CHECK(content(before) == "old");  // whoever reads it meanwhile has the old one whole
  CHECK(place.files() == 1);
}

TEST_CASE("a target that is never written leaves no trace, whether it was there or not") {
  const Place place;
  const std::string path = place.with("out", "old");
  TargetFile there, absent;
  REQUIRE(there.open(path) == 0);
  REQUIRE(absent.open(place / "absent") == 0);
  CHECK(place.files() == 1);
  CHECK(place.read("out") == "old");
}

TEST_CASE("a target's mode stays, and a new one has the usual mode") {
  const Place place;
  const std::string path = place.with("out", "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  REQUIRE(put(path, "new") == 0);
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 07777U) == 0640);
  const mode_t mask = ::umask(0027);
  CHECK(put(place / "fresh", "new") == 0);
  ::umask(mask);
  REQUIRE(::stat((place / "fresh").c_str(), &found) == 0);
  CHECK((found.st_mode & 07777U) == 0640);
}

TEST_CASE("a target is what links lead to, also to where nothing is yet") {
  const Place place;
  const std::string path = place.with("out", "old");
  fs::create_directory(place / "in");
  fs::create_symlink("../out", place / "in/link");
  fs::create_symlink("in/link", place / "link");
  std::ifstream before(path);
  REQUIRE(put(place / "link", "new") == 0);
  CHECK(content(before) == "old");
  CHECK(fs::is_symlink(place / "link"));
  CHECK(fs::is_symlink(place / "in/link"));
  CHECK(place.read("out") == "new");
  fs::create_symlink("fresh", place / "dangling");
  REQUIRE(put(place / "dangling", "text") == 0);
  CHECK(fs::is_symlink(place / "dangling"));
  CHECK(place.read("fresh") == "text");
}

TEST_CASE("a target that is no regular file is written through, and stays what it is") {
  // Pipes, since a mistake would take a device from everybody.
  const Place place;
  const std::string path = place / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  int end = ::open(path.c_str(), O_RDWR);
  REQUIRE(put(path, "through the pipe") == 0);
  CHECK(fs::is_fifo(path));
  std::string got(100, '\0');
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(end, got.data(), got.size()))));
  CHECK(got == "through the pipe");

  TargetFile broken;
  REQUIRE(broken.open(path) == 0);
  ::close(end);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  CHECK(broken.write("to nobody") == EPIPE);
  ::signal(SIGPIPE, before);
  CHECK(fs::is_fifo(path));
}

TEST_CASE("what took a target's place since it was opened is not replaced") {
  const Place place;
  for (const bool was_there : {true, false}) {
    const std::string path = was_there ? place.with("out", "old") : place / "fresh";
    TargetFile target;
    REQUIRE(target.open(path) == 0);
    std::error_code ignored;
    fs::remove(path, ignored);
    fs::create_symlink(place.with("other", "other"), path);
    REQUIRE(target.write("new") == 0);
    CHECK(fs::is_symlink(path));
    CHECK(place.read("other") == "new");
  }
  CHECK(place.files() == 3);
}

TEST_CASE("a target that cannot be written says so before it is") {
  const Place place;
  const auto refused = [](const std::string& path) {
    TargetFile target;
    return target.open(path);
  };
  CHECK(refused("") == ENOENT);
  CHECK(refused(place / "no/such") == ENOENT);
  CHECK(refused(place / "") == EISDIR);
  CHECK(refused(place.with("file", "") + "/below") == ENOTDIR);
  CHECK(refused("/proc/nothing-new") != 0);
  fs::create_symlink("circle", place / "circle");
  CHECK(refused(place / "circle") == ELOOP);
  CHECK(refused(place / std::string(300, 'x').c_str()) == ENAMETOOLONG);
  CHECK(put(place / std::string(255, 'x').c_str(), "text") == 0);
}

TEST_CASE("a target under standard output is written where that stands") {
  const Place place;
  const std::string path = place.with("out", "");
  const int kept = ::dup(STDOUT_FILENO);
  const int file = ::open(path.c_str(), O_WRONLY);
  ::dup2(file, STDOUT_FILENO);
  const bool before = write_all(STDOUT_FILENO, "before, ") == 0;
  const int error = put(path, "between, ");
  const bool after = write_all(STDOUT_FILENO, "after") == 0;
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  ::close(file);
  CHECK(before);
  CHECK(error == 0);
  CHECK(after);
  CHECK(place.read("out") == "before, between, after");
}

TEST_CASE("two names of one file have one identity, also before it is there") {
  const Place place;
  const auto identity = [](const std::string& path) {
    TargetFile target;
    CHECK(target.open(path) == 0);
    return target.identity();
  };
  const std::string path = place.with("out", "");
  fs::create_symlink("out", place / "link");
  fs::create_symlink("fresh", place / "dangling");
  CHECK(identity(path) == identity(place / "./link"));
  CHECK(identity(path) == regular_file(place / "link"));
  CHECK(identity(place / "fresh") == identity(place / "./dangling"));
  CHECK(identity(place / "fresh") != identity(place / "other"));
  CHECK(identity(path) != identity(place / "fresh"));
  CHECK_FALSE(regular_file("/dev/null"));
  CHECK_FALSE(regular_file(place / "fresh"));
  CHECK_FALSE(regular_file(""));
  CHECK_FALSE(TargetFile().identity());
}
