#include "compute/cuda/alignment.hpp"

#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("a piece is packed if it lies together, and aligned wherever it begins") {
  const auto packed = [](std::size_t element, Dims strides, unsigned piece, std::size_t at = 0) {
    const void* const address = reinterpret_cast<const void*>(256 + at);
    return cuda::is_packed(address, element, strides, Dims{5, 8}, 1, piece);
  };
  CHECK(packed(4, Dims{12, 1}, 4));
  CHECK_FALSE(packed(4, Dims{13, 1}, 4));
  CHECK_FALSE(packed(4, Dims{12, 2}, 4));
  CHECK_FALSE(packed(4, Dims{12, 1}, 1));
  CHECK_FALSE(packed(4, Dims{12, 1}, 4, 4));
  CHECK(packed(1, Dims{12, 1}, 4, 4));
  CHECK(packed(8, Dims{2, 1}, 4));
  CHECK_FALSE(packed(8, Dims{1, 1}, 4));
  CHECK(packed(4, Dims{0, 1}, 2, 8));
}
