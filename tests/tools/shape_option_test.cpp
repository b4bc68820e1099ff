#include "tools/forebay/shape_option.hpp"

#include "tests/support/catch.hpp"
#include "tools/forebay/command.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("shapes are read as written") {
  CHECK(parse_shape("32,4,84,84") == Dims{32, 4, 84, 84});
  CHECK(parse_shape("7") == Dims{7});
  CHECK(parse_shape("0,3") == Dims{0, 3});
}

TEST_CASE("a shape that is none is refused with what was wrong") {
  const auto refused = [](const char* text, const char* because) {
    try {
      static_cast<void>(parse_shape(text));
      FAIL("accepted " << text);
    } catch (const UsageError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(because) != std::string::npos);
    }
  };
  refused("-1,4", "negative");
  refused("4,,4", "''");
  refused("", "''");
  refused("4,x", "'x'");
  refused("4,5 ", "'5 '");
  refused("3.5", "'3.5'");
  refused("99999999999999999999", "2^63");
  refused("4000000000,4000000000", "4000000000");
  refused("1,1,1,1,1,1,1,1,1", "--shape");
}
