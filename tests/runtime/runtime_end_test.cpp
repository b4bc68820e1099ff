// How runtimes end with their process: by static destructors, by exit, in forked children.
#include <string>

#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}
}  // namespace

TEST_CASE("A static runtime ends, and what outlives it or logs after it is safe") {
  const auto ended = test::run_end_program("static-runtime");
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(count(ended.err, "worker ended\n") == 1);
  CHECK(count(ended.err, "holder: ") == 2);
  CHECK(ended.err.find("forebay error: last word\n") != std::string::npos);
}

TEST_CASE("A runtime that nobody destroys is closed before static objects go") {
  const auto ended = test::run_end_program("never-destroyed");
  INFO(ended.err);
  CHECK(ended.code == 0);
  const auto worker = ended.err.find("worker ended\n");
  const auto holder = ended.err.find("holder: device closed\n");
  const auto runtime = ended.err.find("runtime closed\n");
  CHECK(worker < holder);
  CHECK(holder < runtime);
  CHECK(runtime != std::string::npos);
  // What the holder still had is reported.
  CHECK(ended.err.find("1 live blocks") < holder);
}

TEST_CASE("A holder that outlives its runtime sees a closed device") {
  const auto ended = test::run_end_program("holder-outlives");
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(count(ended.err, "holder: device closed\n") == 1);
}

TEST_CASE("A runtime may be created when the process is ending") {
  const auto ended = test::run_end_program("used-after-main");
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(count(ended.err, "a runtime at exit works\n") == 1);
}

TEST_CASE("exit may be called by any thread") {
  const auto ended = test::run_end_program("exit-in-thread");
  INFO(ended.err);
  CHECK(ended.code == 3);
  CHECK(count(ended.err, "worker ended\n") == 1);
}

TEST_CASE("The exit of a forked child destroys nothing of its parent's") {
  const auto ended = test::run_end_program("child-exits");
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(count(ended.err, "child: 7\n") == 1);
  // Once, in the parent: the thread that the worker waits for does not exist in the child.
  CHECK(count(ended.err, "worker ended\n") == 1);
  CHECK(ended.err.find("worker ended") > ended.err.find("child: 7"));
}

TEST_CASE("A forked child may drop its copy and end a runtime of its own") {
  const auto ended = test::run_end_program("child-drops");
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(count(ended.err, "child: 7\n") == 1);
  CHECK(count(ended.err, "witness ended\n") == 1);
  CHECK(count(ended.err, "worker ended\n") == 1);
}

TEST_CASE("An unknown scenario is not taken for success") {
  CHECK(test::run_end_program("nonsense").code == 98);
}
