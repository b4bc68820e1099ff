#include "compute/cuda/interpreter_image.hpp"

#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"

using forebay::cuda::interpreter_image;

#ifdef FOREBAY_HAVE_INTERPRETER
namespace {

/// What a fat binary holds: for each entry its kind, "ptx" or "sm", and an architecture.
std::set<std::string> entries_of(std::span<const std::byte> image) {
  std::set<std::string> entries;
  for (std::size_t at = 16; at < image.size();) {
    // Kind and version, the entry's own header's size, that of what follows it; the architecture.
    std::uint16_t kind = 0;
    std::uint32_t header = 0;
    std::uint64_t payload = 0;
    std::uint32_t architecture = 0;
    std::memcpy(&kind, image.data() + at, sizeof kind);
    std::memcpy(&header, image.data() + at + 4, sizeof header);
    std::memcpy(&payload, image.data() + at + 8, sizeof payload);
    std::memcpy(&architecture, image.data() + at + 28, sizeof architecture);
    entries.insert((kind == 1 ? "ptx " : "sm ") + std::to_string(architecture));
    at += header + payload;
  }
  return entries;
}

}  // namespace

TEST_CASE("the interpreter is there for every architecture that nvcc knows, and as PTX") {
  std::istringstream known(FOREBAY_NVCC_ARCHITECTURES);
  std::set<std::string> wanted;
  std::string oldest;
  for (std::string architecture; known >> architecture;) {
    if (oldest.empty()) oldest = architecture;
    wanted.insert("sm " + architecture);
  }
  CHECK(std::stoi(oldest) >= 80);
  wanted.insert("ptx " + oldest);
  CHECK(entries_of(interpreter_image().words) == wanted);
  CHECK(entries_of(interpreter_image().typed) == wanted);
}
#endif

TEST_CASE("the library holds fat binaries of the interpreter, or says that it holds none") {
  const forebay::cuda::InterpreterImage image = interpreter_image();
#ifdef FOREBAY_HAVE_INTERPRETER
  std::size_t bytes = 0;
  for (const auto& part : {image.words, image.typed}) {
    REQUIRE(part.size() > 50'000);
    constexpr std::uint32_t kMagic = 0xBA55ED50;
    CHECK(std::memcmp(part.data(), &kMagic, sizeof kMagic) == 0);
    // Magic, version and the header's size, then the size of all that follows.
    std::uint64_t rest = 0;
    std::memcpy(&rest, part.data() + 8, sizeof rest);
    CHECK(part.size() == rest + 16);
    bytes += part.size();
  }
  CHECK(bytes < std::size_t{4} << 20);
#else
  CHECK(image.words.empty());
  CHECK(image.typed.empty());
#endif
}
