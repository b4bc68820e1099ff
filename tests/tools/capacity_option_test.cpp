#include "tools/forebay/capacity_option.hpp"

#include "tests/support/catch.hpp"
#include "tools/forebay/command.hpp"

using namespace forebay::tools;

namespace {
constexpr std::size_t kMiB = std::size_t{1} << 20;
}

TEST_CASE("a capacity is a size or a multiple of a peak") {
  CHECK(parse_capacity("", 100 * kMiB) == 0);
  CHECK(parse_capacity("8GiB", 1) == 8192 * kMiB);
  CHECK(parse_capacity("4194304", 1) == 4 * kMiB);
  CHECK(parse_capacity("1x", 100 * kMiB) == 100 * kMiB);
  CHECK(parse_capacity("1.5x", 100 * kMiB) == 150 * kMiB);
  CHECK(parse_capacity("0.5x", 100 * kMiB) == 50 * kMiB);
  CHECK(parse_capacity("1.02x", 7'700'000'001) == 7'854'000'001);  // rounded down
}

TEST_CASE("what is no capacity is a wrong question") {
  for (const char* text : {"x", "1.02 x", "-1x", "0x", "nanx", "infx", "1e3x", "1,02x", "8 GB",
                           "GiB", "-5", "1MiB", "0", "1000TiB", "99999999999999x", "0.0001x"}) {
    INFO(text);
    try {
      static_cast<void>(parse_capacity(text, 100 * kMiB));
      FAIL("it was taken");
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).find("--capacity") == 0);
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
}
