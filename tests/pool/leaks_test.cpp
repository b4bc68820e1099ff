#include "forebay/pool/leaks.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

using namespace forebay::pool;
using nlohmann::json;

namespace {

LeakReport of(std::size_t groups) {
  LeakReport report;
  for (std::size_t i = 0; i < groups; ++i) {
    const std::uint64_t bytes = 100 * (groups - i);
    report.groups.push_back({"tag" + std::to_string(i), 2, bytes, bytes, 0, 0, {}});
    report.blocks += 2;
    report.bytes += bytes;
  }
  return report;
}

}  // namespace

TEST_CASE("a leak report as JSON has every key, whatever is in its texts") {
  LeakReport report = of(2);
  report.stacks = StackMode::sampled;
  report.sample_bytes = 4096;
  report.groups[0].tag =
      "quo\"te \\ line\n \x01 gr\xc3\xb6\xc3\x9f"
      "e";
  report.groups[1].tag = "broken \xff\xc3 \xed\xa0\x80 \xc0\x80";
  report.groups[0].site = {"f(int) (a.cpp:3)", "main (b.cpp:4)"};
  report.groups[0].first = 5;
  report.groups[0].last = 9;
  const json document = json::parse(to_json(report));  // which refuses what is no UTF-8
  CHECK(document["stacks"] == "sampled");
  CHECK(document["sample_bytes"] == 4096);
  CHECK(document["symbols"] == "none");
  CHECK(document["blocks"] == 4);
  CHECK(document["bytes"] == 300);
  CHECK(document["groups"].size() == 2);
  CHECK(document["groups"][0]["tag"] == report.groups[0].tag);
  CHECK(document["groups"][1]["tag"] == "broken ?? ??? ??");
  CHECK(document["groups"][0]["site"] == json({"f(int) (a.cpp:3)", "main (b.cpp:4)"}));
  CHECK(document["groups"][1]["site"] == json::array());
  CHECK(document["groups"][0]["first"] == 5);
  CHECK(document["groups"][0]["last"] == 9);
  CHECK(json::parse(to_json(LeakReport{}))["groups"] == json::array());
}

TEST_CASE("a leak report as text shows so many groups and sums up the others") {
  CHECK(to_text(LeakReport{}) == "0 live blocks of 0 bytes in all\n");
  CHECK(to_text(of(2)) ==
        "4 live blocks of 300 bytes in all\n"
        "  tag0: 2 blocks, 200 bytes\n"
        "  tag1: 2 blocks, 100 bytes\n");
  CHECK(to_text(of(5), 2) ==
        "10 live blocks of 1500 bytes in all\n"
        "  tag0: 2 blocks, 500 bytes\n"
        "  tag1: 2 blocks, 400 bytes\n"
        "  and 3 more groups: 6 blocks, 600 bytes\n");
  LeakReport sampled = of(2);
  sampled.stacks = StackMode::sampled;
  sampled.sample_bytes = 4096;
  sampled.groups[0].site = {"f (a.cpp:3)"};
  sampled.groups[0].estimated_bytes = 5000;
  sampled.groups[1].tag = "es\x1b[2J";
  const std::string text = to_text(sampled);
  CHECK(text.find("one allocation in about every 4096 bytes") != std::string::npos);
  CHECK(
      text.find("tag0: 2 blocks, 200 bytes, standing for about 5000 bytes\n      f (a.cpp:3)\n") !=
      std::string::npos);
  CHECK(text.find("es?[2J: 2 blocks, 100 bytes, not sampled") != std::string::npos);
}
