#include "tools/forebay/json_reader.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using forebay::tools::JsonDocument;

TEST_CASE("look-ups answer only what is there and of the type") {
  const JsonDocument d(R"({"a": {"b": [1, 2.5, "x"]}, "t": true, "n": -3, "z": null})", "test");
  CHECK(d.number("/a/b/1") == 2.5);
  CHECK(d.count("/a/b/0") == 1U);
  CHECK_FALSE(d.count("/a/b/1").has_value());
  CHECK_FALSE(d.count("/n").has_value());
  CHECK(d.number("/n") == -3.0);
  CHECK(d.text("/a/b/2") == "x");
  CHECK(d.size("/a/b") == 3);
  CHECK(d.size("/a") == 0);
  CHECK(d.flag("/t") == true);
  CHECK_FALSE(d.flag("/n").has_value());
  CHECK_FALSE(d.number("/a/nothing").has_value());
  CHECK_FALSE(d.number("/a/b/7").has_value());
  CHECK_FALSE(d.number("/z").has_value());
  CHECK(d.members("/a") == std::vector<std::string>{"b"});
  CHECK(d.members("/t").empty());
  CHECK(d.is_array("/a/b"));
  CHECK_FALSE(d.is_array("/a"));
  CHECK(d.is_object("/a"));
  CHECK_FALSE(d.is_object("/gone"));
  CHECK(d.json("/a/b") == "[1,2.5,\"x\"]");
  CHECK(d.json("/gone") == "null");
}

TEST_CASE("a number that no type holds is refused with the name of the file") {
  try {
    const JsonDocument d("{\"a\": 1" + std::string(400, '0') + "}", "dump.json");
    FAIL("accepted");
  } catch (const forebay::Error& error) {
    const std::string line = error.what();
    INFO(line);
    CHECK(line.find("dump.json") != std::string::npos);
    CHECK(line.size() < 120);
  }
}

TEST_CASE("text that is not JSON is refused with its name and place") {
  try {
    const JsonDocument d("{\"a\": }", "dump.json");
    FAIL("accepted");
  } catch (const forebay::Error& error) {
    const std::string line = error.what();
    INFO(line);
    CHECK(line.find("dump.json") != std::string::npos);
    CHECK(line.find("byte 7") != std::string::npos);
  }
}

TEST_CASE("a document is a tree of numbers and of texts that can be printed") {
  const JsonDocument d(R"({"a": {"b": [1, -2, 0.5, "x\ny", true, null], "c\t": {}}})", "test");
  forebay::pool::Entry tree = d.entry("/a");
  REQUIRE(tree.parts.size() == 2);
  const auto text = [&](const char* path) { return std::get<std::string>(tree.find(path)->value); };
  CHECK(std::get<std::uint64_t>(tree.find("b.0")->value) == 1);
  CHECK(std::get<double>(tree.find("b.1")->value) == -2);
  CHECK(std::get<double>(tree.find("b.2")->value) == 0.5);
  CHECK(text("b.3") == "x\\x0ay");
  CHECK(text("b.4") == "true");
  CHECK(text("b.5") == "null");
  CHECK(tree.find("c\\x09")->is_group());
  CHECK(d.entry("/none").parts.empty());
  // However deep a document is.
  const JsonDocument deep(std::string(100'000, '[') + std::string(100'000, ']'), "deep");
  forebay::pool::Entry bottom = deep.entry("");
  const forebay::pool::Entry* at = &bottom;
  std::size_t levels = 0;
  for (; at->is_group() && !at->parts.empty(); ++levels) at = &at->parts.front();
  CHECK(levels == 32);
  CHECK(std::get<std::string>(at->value) == "...");
}
