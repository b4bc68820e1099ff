#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::Runtime;
using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

TEST_CASE("devices lists what the runtime finds, as a table and as JSON") {
  const auto reports = Runtime::create().devices();
  const Outcome table = run_forebay({"devices"});
  CHECK(table.code == 0);
  CHECK(table.err.empty());
  CHECK(table.out.find("host     usable") != std::string::npos);
  const Outcome json = run_forebay({"devices", "--json"});
  CHECK(json.code == 0);
  const JsonDocument read(json.out, "devices");
  REQUIRE(read.size("/devices") == reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::string at = "/devices/" + std::to_string(i);
    CHECK(read.text(at + "/id") == reports[i].id);
    CHECK(read.flag(at + "/usable") == reports[i].usable);
    CHECK(read.text(at + "/detail").has_value());
    CHECK(table.out.find(reports[i].id) != std::string::npos);
  }
}

TEST_CASE("devices writes its JSON into a file beside the table") {
  const Folder folder;
  const Outcome outcome = run_forebay({"devices", "--json", folder.file("devices.json")});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("usable") != std::string::npos);
  const JsonDocument read(Folder::read(folder.file("devices.json")), "devices");
  CHECK(read.size("/devices") > 0);
  const Outcome refused = run_forebay({"devices", "--json", folder.file("no/devices.json")});
  CHECK(refused.code == 1);
  CHECK(refused.out.empty());
  CHECK(forebay::test::lines(refused.err) == 1);
}
