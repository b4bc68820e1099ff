#include "tools/forebay/progress.hpp"

#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using forebay::test::Outcome;
using forebay::test::run_forebay;

namespace {
const std::vector<std::string> kWork = {"bench",     "cold-start", "--device", "host",
                                        "--tensors", "2",          "--shape",  "4,4",
                                        "--loops",   "3",          "--json",   "-"};
}

TEST_CASE("progress stands on a terminal and leaves no line behind") {
  const Outcome outcome = run_forebay(kWork, true);
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("cold-start pass: 0 of 3") != std::string::npos);
  CHECK(outcome.err.find("cold-start pass: 2 of 3") != std::string::npos);
  const std::size_t last = outcome.err.rfind("of 3");
  CHECK(outcome.err.find("\r\033[K", last) != std::string::npos);
}

TEST_CASE("nobody sees progress where there is no terminal") {
  const Outcome outcome = run_forebay(kWork);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("pass") == std::string::npos);
  CHECK(outcome.err.find('\033') == std::string::npos);
}
