#include "tools/forebay/touch_host.hpp"

#include <cstring>

#include "tests/support/catch.hpp"

using namespace forebay::tools;

TEST_CASE("a stamp is found again, and not one byte is written beyond a block") {
  for (const std::uint64_t bytes : {0U, 1U, 3U, 4U, 255U, 256U, 257U, 258U, 1000U, 4096U}) {
    std::vector<unsigned char> memory(bytes + 8, 0xEE);
    HostTouch touch;
    touch.stamp(memory.data(), bytes, 0x01020304, 0);
    touch.check(memory.data(), bytes, 0x01020304, 1, 0);
    CHECK_FALSE(touch.finish());
    for (std::uint64_t i = bytes; i < memory.size(); ++i) CHECK(memory[i] == 0xEE);
  }
}

TEST_CASE("whatever writes over a cell of a block is seen, and the first loss stays") {
  for (const std::size_t at : {0U, 256U, 512U, 768U}) {
    std::vector<unsigned char> memory(1000, 0);
    HostTouch touch;
    touch.stamp(memory.data(), memory.size(), 7, 0);
    HostTouch().stamp(memory.data() + at, 4, 8, 0);  // a block that overlaps it
    touch.check(memory.data(), memory.size(), 7, 0, 0);
    touch.check(memory.data(), memory.size(), 9, 0, 0);
    CHECK(touch.finish() == 7U);
  }
}
