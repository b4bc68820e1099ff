#include <zlib.h>

#include "pool/trace/readers.hpp"
#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

namespace {

constexpr std::size_t kEnough = std::size_t{1} << 30;

std::string gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string wrong_content(std::string_view content, std::size_t max_bytes = kEnough) {
  try {
    (void)gunzip(content, "FILE", max_bytes);
    return "";
  } catch (const forebay::TraceError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("gzip of any length, and of several members, is undone") {
  for (const std::size_t length : {0U, 1U, 1000U, 262143U, 262144U, 262145U, 3000000U}) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(i * i / 7);
    CHECK(gunzip(gzip(text), "FILE", kEnough) == text);
    CHECK(gunzip(gzip(text) + gzip("more"), "FILE", kEnough) == text + "more");
  }
}

TEST_CASE("gzip that was cut off or damaged is an error at every length") {
  const std::string text = csv("1,alloc,1,5,0\n");
  const std::string whole = gzip(text);
  for (std::size_t length = 2; length < whole.size(); ++length) {
    CHECK(wrong_content(std::string_view(whole).substr(0, length)).find("gzip ends too early") !=
          std::string::npos);
  }
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  CHECK(wrong_content(damaged).find("gzip is damaged after " + std::to_string(text.size())) !=
        std::string::npos);
}

TEST_CASE("gzip may be followed by more gzip or by zeros, and by nothing else") {
  const std::string text = csv("1,alloc,1,5,0\n");
  const std::string whole = gzip(text);
  CHECK(gunzip(whole + std::string(300'000, '\0'), "FILE", kEnough) == text);
  CHECK(gunzip(whole + whole + std::string(1, '\0'), "FILE", kEnough) == text + text);
  CHECK(
      wrong_content(whole + "x") ==
      "FILE: gzip is followed by 1 bytes that are no gzip; only more of it, or zeros, may follow");
  CHECK(wrong_content(whole + "garbage\n").find("followed by 8 bytes") != std::string::npos);
  CHECK(wrong_content(whole + std::string(10, '\0') + "x").find("followed by 11 bytes") !=
        std::string::npos);
  CHECK(wrong_content(whole + "\x1F").find("followed by 1 bytes") != std::string::npos);
  for (const std::size_t place : {0U, 1U}) {
    std::string second = gzip("2,free,1,0,0\n");
    second[place] ^= 1;
    CHECK(wrong_content(whole + second).find("that are no gzip") != std::string::npos);
  }
  std::string second = gzip("2,free,1,0,0\n");
  second[2] ^= 1;  // the method
  CHECK(wrong_content(whole + second).find("gzip is damaged") != std::string::npos);
}

TEST_CASE("no more comes out of gzip than is allowed") {
  const std::string bomb = gzip(std::string(10'000'000, 'x'));
  CHECK(bomb.size() < 20'000);
  CHECK(wrong_content(bomb, 1'000'000) ==
        "FILE: gzip holds more than 1000000 bytes, which is too much for a trace");
}

TEST_CASE("a file that is missing, a folder or endless is refused") {
  const auto reads = [](const std::string& file, std::size_t max_bytes) -> std::string {
    try {
      (void)file_content(file, max_bytes);
      return "";
    } catch (const forebay::TraceError& error) {
      return error.what();
    }
  };
  CHECK(reads(data_file("samples/rmm_log.csv"), kEnough).empty());
  CHECK(reads("/nowhere/trace", kEnough) ==
        "/nowhere/trace: the file cannot be read: No such file or directory; name a trace that is "
        "there");
  CHECK(reads("/tmp", kEnough).find("cannot be read: Is a directory") != std::string::npos);
  CHECK(reads("", kEnough).find("cannot be read: No such file or directory") != std::string::npos);
  CHECK(reads("/dev/zero", 1 << 20).find("more than 1048576 bytes") != std::string::npos);
}
