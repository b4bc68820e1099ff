#include "tools/forebay/output.hpp"

#include <filesystem>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using forebay::Error;
using forebay::test::Folder;
using forebay::tools::OutputFile;

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

TEST_CASE("a file that was made for nothing is gone again") {
  const Folder folder;
  {
    const OutputFile file(folder.file("new"));
    CHECK(std::filesystem::exists(folder.file("new")));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("new")));
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
