#include "tools/forebay/output.hpp"

#include <sys/resource.h>

#include <filesystem>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/command.hpp"

using forebay::Error;
using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::test::run_forebay_into;
using forebay::tools::OutputFile;
using forebay::tools::printable;
using forebay::tools::require_distinct;
using forebay::tools::UsageError;

TEST_CASE("a file is replaced as a whole, and not before it is written") {
  const Folder folder;
  const std::string path = folder.with("out", "something longer than what comes");
  {
    OutputFile file(path);
    CHECK(Folder::read(path) == "something longer than what comes");
    file.write("short");
  }
  CHECK(Folder::read(path) == "short");
  { const OutputFile never_written(path); }
  CHECK(Folder::read(path) == "short");
}

TEST_CASE("a file is not there before it is written") {
  const Folder folder;
  const OutputFile file(folder.file("new"));
  CHECK_FALSE(
      std::filesystem::exists(folder.file("new")));  // so the end of the process leaves none
}

TEST_CASE("no name means no output") {
  OutputFile none("");
  CHECK_FALSE(none.wanted());
  none.write("nowhere");
}

TEST_CASE("a file that cannot be opened is refused at once, and a full disk when it shows") {
  const Folder folder;
  CHECK_THROWS_AS(OutputFile(folder.file("no/such/folder")), Error);
  CHECK_THROWS_AS(OutputFile(folder.file("")), Error);
  OutputFile full("/dev/full");
  CHECK_THROWS_AS(full.write("x"), Error);
}

TEST_CASE("two names of one file are found out") {
  const Folder folder;
  const std::string a = folder.file("a"), dotted = folder.file("./a"), b = folder.file("b"), none;
  const OutputFile first(a), same(dotted), other(b), unwanted, dash("-");
  require_distinct({{"--a", first, a}, {"--b", other, b}, {"--c", unwanted, none}}, {});
  require_distinct({{"--a", unwanted, none}, {"--b", unwanted, none}}, {{"--config", none}});
  CHECK_THROWS_AS(require_distinct({{"--a", first, a}, {"--b", same, dotted}}, {}), UsageError);
  CHECK_THROWS_AS(require_distinct({{"--a", dash, "-"}, {"--b", dash, "-"}}, {}), UsageError);
}

TEST_CASE("a file that is read is never written, whatever it is called") {
  const Folder folder;
  const std::string in = folder.with("in", "x");
  std::filesystem::create_symlink("in", folder.file("link"));
  std::filesystem::create_hard_link(in, folder.file("hard"));
  for (const char* name : {"in", "./in", "link", "hard"}) {
    const std::string out = folder.file(name);
    const OutputFile file(out);
    try {
      require_distinct({{"--json", file, out}}, {{"--config", folder.file("c")}, {"TRACE", in}});
      FAIL(name);
    } catch (const UsageError& error) {
      CHECK(error.what() == "--json '" + out + "' is the file that TRACE '" + in +
                                "' reads; give each a file of its own");
    }
  }
  const OutputFile null("/dev/null");  // nothing is lost in it
  require_distinct({{"--json", null, "/dev/null"}}, {{"TRACE", "/dev/null"}});
}

TEST_CASE("standard output that cannot be written is a failure in one line") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--help"},
           {"--version"},
           {"devices", "--help"},
           {"devices"},
           {"devices", "--json"},
           {"config", "show"},
           {"bench", "reinit", "--iters", "1", "--inner-steps", "1", "--device", "host"}}) {
    const Outcome outcome = run_forebay_into("/dev/full", words);
    INFO(words[0] + ": " + outcome.err);
    CHECK(outcome.code == 1);
    CHECK(forebay::test::lines(outcome.err) == 1);
  }
}

TEST_CASE("a closed standard output loses what was meant for it, which is told, and no file") {
  const Folder folder;
  const Outcome outcome =
      run_forebay_into("", {"bench", "reinit", "--iters", "1", "--inner-steps", "1", "--device",
                            "host", "--json", folder.file("out")});
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(Folder::read(folder.file("out")).rfind("{", 0) == 0);
  const std::string trace = folder.with("t.csv", "1,alloc,1,5,0\n");
  CHECK(run_forebay_into("", {"replay", trace}).code == 1);
  CHECK(run_forebay_into("", {"replay", trace, "--json", "-"}).code == 1);
}

TEST_CASE("control characters are printed as what they are") {
  CHECK(printable("a\x1b[2J\nb\x7f") == "a\\x1b[2J\\x0ab\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m \xc3\xa9 \xc2\xb5") == "\\x9b31m \xc3\xa9 \xc2\xb5");
  CHECK(printable("\xc2") == "\xc2");
}

TEST_CASE("a limit on the size of files is told as a full disk is") {
  const Folder folder;
  const std::string file = folder.with("s.json", "old");
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const struct rlimit small { 2048, before.rlim_max };
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Outcome outcome = run_forebay({"bench", "cold-start", "--device", "host", "--tensors", "1",
                                       "--loops", "1", "--shape", "8", "--stats", file});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  INFO(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(outcome.err.find(file) != std::string::npos);
  CHECK(Folder::read(file) == "old");
}
