#include "compute/cuda/interpreter_image.hpp"

#include <cstdint>
#include <cstring>

#include "tests/support/catch.hpp"

using forebay::cuda::interpreter_image;

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
