#include "runtime/cache_entry.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>

namespace forebay {

Digest digest_of(std::string_view bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string hex(const Digest& digest) {
  char digits[sizeof "0123456789abcdef0123456789abcdef"];
  std::snprintf(digits, sizeof digits, "%016llx%016llx",
                static_cast<unsigned long long>(digest.high),
                static_cast<unsigned long long>(digest.low));
  return digits;
}

namespace cache_entry {
namespace {

// The first byte is no text and the last ones see a transfer that rewrites line ends.
constexpr std::string_view kMagic =
    "\x8f"
    "fbc\r\n\x1a\n";
constexpr std::string_view kEnding = ".kernel";
constexpr std::size_t kNameDigits = 32;
static_assert(kMagic.size() == 8);

void append(std::string& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

void append(std::string& to, const Digest& digest) {
  append(to, digest.low, 8);
  append(to, digest.high, 8);
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size = 8) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

Digest digest_at(std::string_view bytes, std::size_t at) {
  return {number_at(bytes, at + 8), number_at(bytes, at)};
}

std::uint64_t schema_at(std::string_view bytes) { return number_at(bytes, 8, 4); }

constexpr std::size_t kChecked = kHeaderBytes - sizeof(Digest);

std::string problem_of_header(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) {
    return "cut off: " + std::to_string(bytes.size()) + " bytes, less than a header";
  }
  if (bytes.substr(0, kMagic.size()) != kMagic) return "no entry of a cache";
  if (digest_at(bytes, kChecked) != digest_of(bytes.substr(0, kChecked))) {
    return "damaged header";
  }
  if (schema_at(bytes) != kSchema) {
    return "schema " + std::to_string(schema_at(bytes)) + ", not " + std::to_string(kSchema);
  }
  // What comes now was written so: the sums cannot wrap in an entry that forebay made.
  const std::uint64_t material = number_at(bytes, 16);
  const std::uint64_t content = number_at(bytes, 24);
  const std::uint64_t whole = number_at(bytes, 32);
  if (number_at(bytes, 12, 4) != kHeaderBytes || number_at(bytes, 40) != 0 || whole > kMaxBytes ||
      material > whole || content > whole || kHeaderBytes + material + content != whole) {
    return "impossible lengths";
  }
  if (bytes.size() == whole) return {};
  return (bytes.size() < whole ? "cut off: " : "too long: ") + std::to_string(bytes.size()) +
         " of " + std::to_string(whole) + " bytes";
}

}  // namespace

std::string name_of(std::string_view material) {
  std::string named(material);
  append(named, kSchema, 4);
  return hex(digest_of(named)).append(kEnding);
}

bool is_name(std::string_view name) noexcept {
  return name.size() == kNameDigits + kEnding.size() && name.substr(kNameDigits) == kEnding &&
         name.find_first_not_of("0123456789abcdef") == kNameDigits;
}

std::string encode(std::string_view material, std::string_view content) {
  const std::size_t whole = kHeaderBytes + material.size() + content.size();
  std::string bytes;
  bytes.reserve(whole);
  bytes += kMagic;
  append(bytes, kSchema, 4);
  append(bytes, kHeaderBytes, 4);
  append(bytes, material.size(), 8);
  append(bytes, content.size(), 8);
  append(bytes, whole, 8);
  append(bytes, 0, 8);
  append(bytes, digest_of(material));
  append(bytes, digest_of(content));
  append(bytes, digest_of(bytes));
  bytes += material;
  bytes += content;
  return bytes;
}

Parts check(std::string_view bytes) {
  Parts parts;
  parts.problem = problem_of_header(bytes);
  if (!parts.problem.empty()) {
    parts.foreign = parts.problem.substr(0, 7) == "schema ";
    return parts;
  }
  const std::string_view material = bytes.substr(kHeaderBytes, number_at(bytes, 16));
  const std::string_view content = bytes.substr(kHeaderBytes + material.size());
  if (digest_at(bytes, 48) != digest_of(material)) {
    parts.problem = "damaged material";
  } else if (digest_at(bytes, 64) != digest_of(content)) {
    parts.problem = "damaged content";
  } else {
    parts.material = material;
    parts.content = content;
  }
  return parts;
}

}  // namespace cache_entry
}  // namespace forebay
