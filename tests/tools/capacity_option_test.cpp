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

TEST_CASE("a factor is a number within its range") {
  CHECK(parse_factor("scale", "1.07", {0.01, 100}) == 1.07);
  CHECK(parse_factor("scale", "100", {0.01, 100}) == 100);
  for (const char* text :
       {"", "x", "0", "-1", "0.009", "100.5", "nan", "inf", "1e1", "1.5x", "1 "}) {
    INFO(text);
    CHECK_THROWS_WITH(
        parse_factor("scale", text, {0.01, 100}),
        "--scale takes a number from 0.01 to 100 such as 1.07, not '" + std::string(text) + "'");
  }
}

TEST_CASE("a capacity that is too small, too large or no number says what is allowed") {
  const auto refusal = [](const char* text, std::uint64_t peak) -> std::string {
    try {
      static_cast<void>(parse_capacity(text, peak));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  for (const char* text : {"infx", "nanx", "inf", "-infx"}) {
    INFO(text);
    CHECK(refusal(text, kMiB) == std::string("--capacity takes a size such as 8GiB, or a multiple "
                                             "of the trace's peak such as 1.02x, not '") +
                                     text + "'");
    CHECK(refusal(text, 0) == refusal(text, kMiB));
  }
  CHECK(refusal("99999999999x", kMiB) ==
        "--capacity 99999999999x is more than 128 TiB; from 2 MiB to 128 TiB are allowed");
  CHECK(refusal("0.5x", 2 * kMiB) == "--capacity 0.5x is 1 MiB; from 2 MiB to 128 TiB are allowed");
}
