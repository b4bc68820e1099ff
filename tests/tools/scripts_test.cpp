// tools/quickstart and tools/test, as far as they can be called without building anything.
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;

namespace {

/// Runs a script where nothing can be installed or built: only these programs can be found.
Outcome run_script(const std::string& command) {
  const Folder folder;
  for (const char* program :
       {"bash", "basename", "cat", "dirname", "mkdir", "readlink", "sed", "nproc"}) {
    for (const char* place : {"/usr/bin/", "/bin/"}) {
      if (!std::filesystem::exists(std::string(place) + program)) continue;
      std::filesystem::create_symlink(std::string(place) + program, folder.file(program));
      break;
    }
  }
  const std::string err = folder.file("err");
  const std::string line = "cd '" + folder.file("") + "' && PATH='" + folder.file("") +
                           "' bash '" FOREBAY_SOURCE_DIR "/tools/'" + command + " 2>'" + err +
                           "' </dev/null";
  Outcome outcome;
  FILE* pipe = ::popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    outcome.out += static_cast<char>(c);
  }
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.err = Folder::read(err);
  return outcome;
}

}  // namespace

TEST_CASE("scripts answer --help and do nothing else") {
  for (const char* script : {"quickstart", "test"}) {
    for (const char* help : {" --help", " -h"}) {
      const Outcome outcome = run_script(std::string(script) + help);
      INFO(outcome.out + outcome.err);
      CHECK(outcome.code == 0);
      CHECK(outcome.err.empty());
      CHECK(outcome.out.find(std::string("tools/") + script) == 0);
      CHECK(outcome.out.find("installs what is missing") != std::string::npos);
      CHECK(outcome.out.find("==") == std::string::npos);  // which begins a step
      CHECK(outcome.out.find("set -euo") == std::string::npos);
    }
  }
  CHECK(run_script("test --help").out.find("passed on to ctest") != std::string::npos);
}

TEST_CASE("quickstart refuses arguments, of which it has none") {
  for (const char* argument : {"--fast", "release", "''"}) {
    const Outcome outcome = run_script(std::string("quickstart ") + argument);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find("allowed is none, or --help") != std::string::npos);
  }
}
