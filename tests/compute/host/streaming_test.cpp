#include "compute/host/streaming.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/catch.hpp"

using namespace forebay::compute;

TEST_CASE("streaming copies what memcpy would, from and to any address") {
  std::vector<unsigned char> from(1000);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  for (std::size_t to_at = 0; to_at < 65; ++to_at) {
    for (const std::size_t from_at : {0U, 1U, 63U}) {
      for (const std::size_t bytes : {0U, 1U, 62U, 64U, 65U, 127U, 128U, 300U, 700U}) {
        std::vector<unsigned char> to(800, 0xEE);
        std::vector<unsigned char> want = to;
        host::stream(to.data() + to_at, from.data() + from_at, bytes);
        host::end_streaming();
        if (bytes != 0) std::memcpy(want.data() + to_at, from.data() + from_at, bytes);
        REQUIRE(to == want);
      }
    }
  }
}
