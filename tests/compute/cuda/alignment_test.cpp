#include "compute/cuda/alignment.hpp"

#include <cstdint>

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
  INFO("what is one element long has no next one");
  const void* const address = reinterpret_cast<const void*>(256);
  CHECK(cuda::is_packed(address, 4, Dims{13, 1}, Dims{1, 8}, 1, 4));
  CHECK_FALSE(cuda::is_packed(address, 4, Dims{13, 1}, Dims{2, 8}, 1, 4));
}

TEST_CASE("sixteen bytes at most have to be aligned, and one element goes alone") {
  const auto aligned = [](std::uintptr_t at, std::size_t element, unsigned piece) {
    return cuda::is_aligned(reinterpret_cast<const void*>(at), element, piece);
  };
  CHECK(aligned(16, 8, 4));
  CHECK_FALSE(aligned(8, 8, 4));
  CHECK(aligned(8, 2, 4));
  CHECK_FALSE(aligned(4, 2, 4));
  CHECK_FALSE(aligned(16, 4, 1));
}
