#include "runtime/size_text.hpp"

#include <cstdint>
#include <regex>

#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("Sizes are read") {
  CHECK(parse_size("0") == 0u);
  CHECK(parse_size("4096") == 4096u);
  CHECK(parse_size("4096 B") == 4096u);
  CHECK(parse_size("64 KiB") == 65536u);
  CHECK(parse_size("64KiB") == 65536u);
  CHECK(parse_size("1.5 GiB") == 1610612736u);
  CHECK(parse_size("0.5 KiB") == 512u);
  CHECK(parse_size("2 TiB") == std::size_t{2} << 40);
  CHECK(parse_size("18446744073709551615") == SIZE_MAX);
}

TEST_CASE("What is no size is refused") {
  for (const char* text : {"",
                           " ",
                           "KiB",
                           "64 kib",
                           "64 KB",
                           "64 MB",
                           "64  KiB",
                           "64 KiB ",
                           " 64 KiB",
                           "-1",
                           "-1 KiB",
                           "+1",
                           "1e3",
                           "0x10",
                           "1.",
                           ".5 KiB",
                           "1.5",
                           "1.2.3 KiB",
                           "0.3 B",
                           "0.0001 KiB",
                           "1 KiB2",
                           "18446744073709551616",
                           "16777216 TiB",
                           "99999999999999999999999 B",
                           "nan",
                           "inf",
                           "1,5 KiB"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text).has_value());
  }
}

TEST_CASE("What is written reads back as the same size") {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{1024},
                            std::size_t{4097}, std::size_t{1536}, std::size_t{1} << 20,
                            (std::size_t{1} << 20) + 1, std::size_t{5} << 40, SIZE_MAX}) {
    INFO(bytes);
    CHECK(parse_size(format_size(bytes)) == bytes);
  }
  CHECK(format_size(65536) == "64 KiB");
  CHECK(format_size(1536) == "1536 B");
  CHECK(format_size(0) == "0 B");
}

TEST_CASE("Descriptions are rounded") {
  CHECK(describe_size(512) == "512 B");
  CHECK(describe_size(150754820096) == "140.4 GiB");
  CHECK(describe_size(std::size_t{3} << 19) == "1.5 MiB");
}

TEST_CASE("The schema's pattern and the reader agree") {
  const std::regex pattern{std::string(kSizePattern)};
  for (const char* text : {"0", "4096", "64 KiB", "64KiB", "1.5 GiB", "7 B"}) {
    INFO(text);
    CHECK(std::regex_search(text, pattern));
    CHECK(parse_size(text).has_value());
  }
  for (const char* text : {"", "64 KB", "-1", "1.5", "64  KiB", "64 KiB ", ".5 KiB", "1. KiB"}) {
    INFO(text);
    CHECK_FALSE(std::regex_search(text, pattern));
    CHECK_FALSE(parse_size(text).has_value());
  }
}
