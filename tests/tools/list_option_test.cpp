#include "tools/forebay/list_option.hpp"

#include "tests/support/catch.hpp"

using namespace forebay::tools;

namespace {

std::string refusal(const char* text, bool sizes) {
  try {
    if (sizes) {
      static_cast<void>(parse_sizes("--bytes", text, {256, 1U << 30}));
    } else {
      static_cast<void>(parse_counts("--live", text, {1, 1000}));
    }
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a list is cut at its commas") {
  CHECK(split_list("a,b") == std::vector<std::string>{"a", "b"});
  CHECK(split_list("a") == std::vector<std::string>{"a"});
  CHECK(split_list(",") == std::vector<std::string>{"", ""});
}

TEST_CASE("sizes carry units, counts do not") {
  CHECK(parse_sizes("--bytes", "256,4KiB,1.5 MiB", {256, 1U << 30}) ==
        std::vector<std::uint64_t>{256, 4096, 3U << 19});
  CHECK(parse_counts("--live", "1,1000", {1, 1000}) == std::vector<std::uint64_t>{1, 1000});
}

TEST_CASE("a wrong item is named with what is allowed") {
  for (const char* text : {"", "256,", "x", "255", "2 GiB", "4KB", "256,,512", "-256"}) {
    INFO(text);
    CHECK(refusal(text, true).find("--bytes takes sizes from 256 B to 1 GiB") == 0);
  }
  CHECK(refusal("256,4KB", true).find("not '4KB'") != std::string::npos);
  for (const char* text : {"", "1,", "0", "1001", "1e3", "10 ", "99999999999999999999"}) {
    INFO(text);
    CHECK(refusal(text, false).find("--live takes whole numbers from 1 to 1000") == 0);
  }
}
