#include "tools/forebay/json_writer.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/catch.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::tools::JsonDocument;
using forebay::tools::JsonWriter;

TEST_CASE("JSON of every kind of value reads back as it was") {
  JsonWriter out;
  const std::string text = "a \"quote\", a \\, a\nline, a\ttab, \x01 and ü";
  out.begin_object()
      .field("text", text)
      .field("yes", true)
      .field("no", false)
      .field("most", std::numeric_limits<std::uint64_t>::max())
      .field("tenth", 0.1)
      .field("third", 1.0F / 3)
      .key("nothing")
      .null()
      .field("list", std::vector<int>{3, 1, 2})
      .key("inside")
      .raw("{\"raw\": 7}\n");
  const JsonDocument read(out.end_object().text(), "test");
  CHECK(read.text("/text") == text);
  CHECK(read.flag("/yes") == true);
  CHECK(read.flag("/no") == false);
  CHECK(read.count("/most") == std::numeric_limits<std::uint64_t>::max());
  CHECK(read.number("/tenth") == 0.1);
  CHECK(static_cast<float>(*read.number("/third")) == 1.0F / 3);
  CHECK(read.json("/nothing") == "null");
  CHECK(read.json("/list") == "[3,1,2]");
  CHECK(read.count("/inside/raw") == 7U);
}

TEST_CASE("what is no UTF-8 is written as a question mark") {
  JsonWriter out;
  out.begin_array()
      .value(
          "b\xff"
          "d \xc3\xbc \xc3")
      .end_array();
  CHECK(out.text() == "[\"b?d \xc3\xbc ?\"]\n");
  CHECK(JsonDocument(out.text(), "test").text("/0") == "b?d \xc3\xbc ?");
}

TEST_CASE("what JSON has no number for becomes null") {
  JsonWriter out;
  out.begin_array().value(std::nan("")).value(INFINITY).value(-INFINITY).value(NAN).end_array();
  CHECK(out.text() == "[null, null, null, null]\n");
}

TEST_CASE("the outer two levels have lines of their own and the rest stays together") {
  JsonWriter out;
  out.begin_object().field("a", 1).key("list").begin_array();
  for (int i = 0; i < 2; ++i) out.begin_object().field("i", i).field("j", i).end_object();
  out.end_array().key("empty").begin_object().end_object().end_object();
  CHECK(out.text() ==
        "{\n"
        "  \"a\": 1,\n"
        "  \"list\": [\n"
        "    {\"i\": 0, \"j\": 0},\n"
        "    {\"i\": 1, \"j\": 1}\n"
        "  ],\n"
        "  \"empty\": {}\n"
        "}\n");
}
