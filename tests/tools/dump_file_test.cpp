#include "tools/forebay/dump_file.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using forebay::test::Folder;
using forebay::tools::read_dump;

namespace {
std::string refusal(const std::string& file) {
  try {
    static_cast<void>(read_dump(file, "--stats"));
  } catch (const forebay::Error& error) {
    return error.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a dump is read whole, whatever bytes it has") {
  const Folder folder;
  std::string text(10'000, 'x');
  text[5000] = '\0';
  text += "\r\n";
  CHECK(read_dump(folder.with("dump", text), "--stats") == text);
  CHECK(read_dump(folder.with("empty", ""), "--stats").empty());
}

TEST_CASE("what cannot be read or never ends is refused by name") {
  const Folder folder;
  for (const std::string& file :
       {folder.file("missing"), folder.file(""), std::string("/dev/zero")}) {
    INFO(file);
    CHECK(refusal(file).find("'" + file + "'") != std::string::npos);
    CHECK(refusal(file).find("--stats has written") != std::string::npos);
  }
  CHECK(refusal(folder.file("missing")).find("': No such file or directory; ") !=
        std::string::npos);
  CHECK(refusal(folder.file("")).find("': Is a directory; ") != std::string::npos);
  CHECK(refusal("").find("'': No such file or directory; ") != std::string::npos);
}
