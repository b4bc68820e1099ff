#include "runtime/cache_entry.hpp"

#include <set>

#include "tests/support/catch.hpp"

using namespace forebay;
namespace entry = forebay::cache_entry;

namespace {

std::string problem(const std::string& bytes) {
  const entry::Parts parts = entry::check(bytes);
  if (!parts.problem.empty()) {
    CHECK(parts.material.empty());
    CHECK(parts.content.empty());
  }
  return parts.problem;
}

/// `bytes` with a number put in, and the header's digest as if it belonged there.
std::string forged(std::string bytes, std::size_t at, std::uint64_t value, std::size_t size = 8) {
  const auto put = [&bytes](std::size_t place, std::uint64_t number, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      bytes[place + i] = static_cast<char>(number >> (8 * i) & 0xFF);
    }
  };
  put(at, value, size);
  const Digest digest = digest_of(std::string_view(bytes).substr(0, 80));
  put(80, digest.low, 8);
  put(88, digest.high, 8);
  return bytes;
}

}  // namespace

TEST_CASE("an entry gives back what was put into it") {
  const std::string zeros("\0\0\n\0", 4);
  for (const std::string& material : {std::string(), std::string("m"), zeros}) {
    for (const std::string& content : {std::string(), std::string(5000, 'c'), zeros}) {
      const std::string bytes = entry::encode(material, content);
      const entry::Parts parts = entry::check(bytes);
      CHECK(parts.problem.empty());
      CHECK(parts.material == material);
      CHECK(parts.content == content);
      CHECK(bytes.size() == entry::kHeaderBytes + material.size() + content.size());
    }
  }
}

TEST_CASE("the layout of an entry is the one that is written down") {
  const std::string bytes = entry::encode("ab", "c");
  CHECK(bytes.substr(0, 8) ==
        "\x8f"
        "fbc\r\n\x1a\n");
  CHECK(bytes.substr(8, 8) == std::string("\1\0\0\0\x60\0\0\0", 8));
  CHECK(bytes.substr(16, 8) == std::string("\2\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(24, 8) == std::string("\1\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(32, 8) == std::string("\x63\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(96) == "abc");
  // XXH3 with 128 bits of nothing, as its specification has it.
  CHECK(hex(digest_of("")) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("every flipped bit of an entry is seen") {
  const std::string good = entry::encode("some material", "and the content of an entry");
  REQUIRE(problem(good).empty());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1U << bit));
      INFO(at << " " << bit);
      CHECK_FALSE(problem(bad).empty());
    }
  }
}

TEST_CASE("an entry of every other length is seen") {
  const std::string good = entry::encode("some material", "and the content of an entry");
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK(problem(good.substr(0, length)).find("cut off: " + std::to_string(length)) == 0);
  }
  CHECK(problem(good + '\0') == "too long: 137 of 136 bytes");
  CHECK(problem(std::string(1000, '\0')) == "no entry of a cache");
}

TEST_CASE("lengths that cannot be are seen, whoever wrote them") {
  const std::string good = entry::encode("material", "content");
  REQUIRE(problem(forged(good, 16, 8)).empty());
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{9},
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    CHECK(problem(forged(good, 16, wrong)) == "impossible lengths");
    CHECK(problem(forged(good, 24, wrong ^ 1)) == "impossible lengths");
    CHECK(problem(forged(good, 32, wrong)) == "impossible lengths");
  }
  // Lengths whose sum wraps around to the right one.
  const std::string wrapped = forged(good, 16, ~std::uint64_t{0} - 8);
  CHECK(problem(forged(wrapped, 24, 8 + 7 + 9)) == "impossible lengths");
  constexpr std::uint64_t kLarge = std::uint64_t{65} << 20;
  const std::string large = forged(forged(good, 24, kLarge), 32, 96 + 8 + kLarge);
  CHECK(problem(large) == "impossible lengths");
  CHECK(problem(forged(good, 12, 95, 4)) == "impossible lengths");
  CHECK(problem(forged(good, 40, 1)) == "impossible lengths");
}

TEST_CASE("another schema's entry is told from a damaged one") {
  const std::string good = entry::encode("material", "content");
  const entry::Parts other = entry::check(forged(good, 8, 2, 4));
  CHECK(other.problem == "schema 2, not 1");
  CHECK(other.foreign);
  CHECK(other.content.empty());
  std::string damaged = good;
  damaged[8] = 2;
  CHECK(problem(damaged) == "damaged header");
  CHECK_FALSE(entry::check(damaged).foreign);
  CHECK_FALSE(entry::check(good).foreign);
}

TEST_CASE("names are 32 digits of everything, and nothing else is a name") {
  std::set<std::string> names;
  for (const char* material : {"", "a", "b", "ab", "ba", "A"}) {
    const std::string name = entry::name_of(material);
    CHECK(entry::is_name(name));
    CHECK(name == entry::name_of(material));
    names.insert(name);
  }
  CHECK(names.size() == 6);
  // The schema is a part of it.
  CHECK(entry::name_of("a") == hex(digest_of(std::string("a\1\0\0\0", 5))) + ".kernel");
  CHECK(entry::is_name("0123456789abcdef0123456789abcdef.kernel"));
  for (const char* name :
       {"", ".kernel", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcde.kernel",
        "0123456789abcdef0123456789abcdefa.kernel", "0123456789ABCDEF0123456789abcdef.kernel",
        "0123456789abcdef0123456789abcdef.kernel2", "../3456789abcdef0123456789abcdef.kernel",
        "0123456789abcdef0123456789abcdef.kerne"}) {
    INFO(name);
    CHECK_FALSE(entry::is_name(name));
  }
}
