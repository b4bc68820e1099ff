// Programs that leave a device open end cleanly and quietly.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"

namespace {

/// Runs end_program.cpp, which lies beside this one: its exit code, and its standard error empty.
void ends_well(const std::string& scenario) {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "gpu_end";
  const fs::path errors =
      fs::temp_directory_path() / ("forebay_gpu_end_" + std::to_string(getpid()));
  const int status = std::system(
      ("'" + program.string() + "' " + scenario + " 2> '" + errors.string() + "'").c_str());
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  fs::remove(errors);
  INFO(scenario << ": " << text.str());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(text.str().empty());
}

}  // namespace

TEST_CASE("devices left open by static objects, by leaks and by _exit end well") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("static");
  ends_well("leaked");
  ends_well("at-once");
}

TEST_CASE("a forked child is told that CUDA is its parent's") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("child");
}

TEST_CASE("a device may be opened again") {
  FOREBAY_REQUIRE_DEVICE();
  ends_well("again");
}
