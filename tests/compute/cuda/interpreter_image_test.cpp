#include "compute/cuda/interpreter_image.hpp"

#include <cstdint>
#include <cstring>

#include "tests/support/catch.hpp"

using forebay::cuda::interpreter_image;

TEST_CASE("the library holds a fat binary of the interpreter, or says that it holds none") {
#ifdef FOREBAY_HAVE_INTERPRETER
  REQUIRE(interpreter_image().size() > 100'000);
  constexpr std::uint32_t kMagic = 0xBA55ED50;
  CHECK(std::memcmp(interpreter_image().data(), &kMagic, sizeof kMagic) == 0);
  // Magic, version and the header's size, then the size of all that follows.
  std::uint64_t rest = 0;
  std::memcpy(&rest, interpreter_image().data() + 8, sizeof rest);
  CHECK(interpreter_image().size() == rest + 16);
#else
  CHECK(interpreter_image().empty());
#endif
}
