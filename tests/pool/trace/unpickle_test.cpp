#include "pool/trace/unpickle.hpp"

#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace std::string_literals;

namespace {

constexpr std::size_t kPickleEnough = std::size_t{1} << 24;
using Kind = Pickle::Kind;

std::string wrong(const std::string& content, std::size_t max_bytes = kPickleEnough) {
  try {
    (void)Pickle(content, "FILE", max_bytes);
    return "";
  } catch (const forebay::TraceError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("every kind of value is read") {
  const std::string content =
      "\x80\x04]("                                    // a list of
      "N\x88\x89"                                     // none, true, false
      "J\xFF\xFF\xFF\xFF"                             // -1
      "K\xFF"                                         // 255
      "M\x01\x02"                                     // 513
      "\x8A\x00"                                      // 0
      "\x8A\x01\x80"                                  // -128
      "\x8A\x08\x00\x00\x00\x00\x00\x00\x00\x80"      // -2^63
      "\x8A\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00"  // 2^63
      "G\x00\x00\x00\x00\x00\x00\x00\x00"             // 0.0
      "\x8C\x02hi"
      "X\x01\x00\x00\x00x"
      "C\x01y"
      "\x85\x86)"  // a tuple of the bytes, of the text and that, an empty tuple
      "}(K\x01K\x02\x8C\x01kK\x03u"
      "\x8F(K\x05\x90"
      "e."s;
  const Pickle pickle(content, "FILE", kPickleEnough);
  const auto& items = pickle.items(pickle.root());
  REQUIRE(items.size() == 16);
  CHECK(pickle.kind(items[0]) == Kind::none);
  CHECK(pickle.kind(items[1]) == Kind::boolean);
  CHECK(pickle.kind(items[2]) == Kind::boolean);
  CHECK(pickle.integer(items[3]) == -1);
  CHECK(pickle.integer(items[4]) == 255);
  CHECK(pickle.integer(items[5]) == 513);
  CHECK(pickle.integer(items[6]) == 0);
  CHECK(pickle.integer(items[7]) == -128);
  CHECK(pickle.integer(items[8]) == INT64_MIN);
  CHECK(pickle.kind(items[9]) == Kind::big);
  CHECK(pickle.kind(items[10]) == Kind::real);
  CHECK(pickle.text(items[11]) == "hi");
  const auto& pair = pickle.items(items[12]);
  REQUIRE(pair.size() == 2);
  CHECK(pickle.text(pair[0]) == "x");
  CHECK(pickle.kind(pickle.items(pair[1]).at(0)) == Kind::bytes);
  CHECK(pickle.items(items[13]).empty());
  CHECK(pickle.keys(items[14]) == 2);
  CHECK(pickle.integer(*pickle.find(items[14], "k")) == 3);
  CHECK_FALSE(pickle.find(items[14], "other"));
  CHECK(pickle.items(items[15]).size() == 1);
}

TEST_CASE("remembered values come again, and a list may hold itself") {
  const std::string content =
      "\x80\x02]q\x07h\x07"
      "ah\x07"
      "a."s;
  const Pickle pickle(content, "FILE", kPickleEnough);
  const auto& items = pickle.items(pickle.root());
  REQUIRE(items.size() == 2);
  CHECK(items[0] == pickle.root());
}

TEST_CASE("every opcode that is not data is refused by its name") {
  struct Refused {
    std::string opcode, name;
  };
  for (const Refused& refused :
       {Refused{"cos\nsystem\n", "GLOBAL"}, Refused{"\x93", "STACK_GLOBAL"}, Refused{"R", "REDUCE"},
        Refused{"b", "BUILD"}, Refused{"ios\nsystem\n", "INST"}, Refused{"o", "OBJ"},
        Refused{"\x81", "NEWOBJ"}, Refused{"\x92", "NEWOBJ_EX"}, Refused{"P1\n", "PERSID"},
        Refused{"Q", "BINPERSID"}, Refused{"\x82\x01", "EXT1"}, Refused{"\x83\x01\x01", "EXT2"},
        Refused{"\x84\x01\x01\x01\x01", "EXT4"}}) {
    const std::string line = wrong("\x80\x04" + refused.opcode + ".");
    CHECK(line == "FILE: byte 2 of the pickle: opcode " + refused.name +
                      " would run code or load a class; a snapshot holds plain data only, and "
                      "nothing else is allowed");
  }
  CHECK(wrong("\x80\x05\x97.") ==
        "FILE: byte 2 of the pickle: opcode 151 is not one of those that plain data needs");
}

TEST_CASE("a pickle that does not hold together is refused") {
  for (const std::string& content : {""s,
                                     "\x80"s,
                                     "N."s,
                                     "\x80\x01N."s,
                                     "\x80\x06N."s,
                                     "\x80\x04"s,
                                     "\x80\x04."s,
                                     "\x80\x04N"s,
                                     "\x80\x04(."s,
                                     "\x80\x04(a."s,
                                     "\x80\x04Na."s,
                                     "\x80\x04NNa."s,
                                     "\x80\x04}Na."s,
                                     "\x80\x04]NNs."s,
                                     "\x80\x04}(Nu."s,
                                     "\x80\x04"
                                     "e."s,
                                     "\x80\x04h\x00."s,
                                     "\x80\x04\x94."s,
                                     "\x80\x04Nr\xFF\xFF\xFF\xFF."s,
                                     "\x80\x04\x8C\x05hi"s,
                                     "\x80\x04X\xFF\xFF\xFF\xFFhi"s,
                                     "\x80\x04\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFhi"s,
                                     "\x80\x04\x8B\xFF\xFF\xFF\xFF."s,
                                     "\x80\x04"
                                     "0."s,
                                     "\x80\x04"
                                     "1."s,
                                     "\x80\x04"
                                     "2."s,
                                     "\x80\x04\x85."s}) {
    const std::string line = wrong(content);
    CHECK(line.find("FILE: byte ") == 0);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("nesting costs no stack, and memory has a limit") {
  std::string nested = "\x80\x04";
  for (int i = 0; i < 1'000'000; ++i) nested += ']';
  for (int i = 1; i < 1'000'000; ++i) nested += 'a';
  CHECK(wrong(nested + '.', std::size_t{1} << 30).empty());
  CHECK(wrong(nested + '.', std::size_t{1} << 20).find("too much memory") != std::string::npos);
}
