#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("pairs of operations do what one after the other does") {
  std::size_t count = 0;
  for (const host::PairLoop& pair : host::loops_pairs()) {
    INFO(to_string(pair.first) << " then " << to_string(pair.second) << " of "
                               << to_string(pair.type));
    CHECK(host::find_pair(pair.first, pair.second, pair.type) == &pair);
    for (int b_once = 0; b_once < 2; ++b_once) {
      for (int c_once = 0; c_once < 2; ++c_once, ++count) {
        for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{333}}) {
          const auto a = values_of(pair.type, n);
          auto b = a;
          std::shuffle(b.begin(), b.end(), std::mt19937(3));
          auto c = a;
          std::shuffle(c.begin(), c.end(), std::mt19937(4));
          if (b_once != 0) std::fill(b.begin(), b.end(), b[n / 2]);
          if (c_once != 0) std::fill(c.begin(), c.end(), c[n / 3]);
          std::vector<std::byte> out((n + 1) * size_of(pair.type), std::byte{0xAB});
          const std::uint64_t behind = element_of(pair.type, out, n);
          pair.kernels[b_once][c_once](
              memory_of(pair.type, a).data(),
              memory_of(pair.type, b_once != 0 ? std::vector{b[0]} : b).data(),
              memory_of(pair.type, c_once != 0 ? std::vector{c[0]} : c).data(), out.data(), n, 0);
          for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t between = test::evaluate(pair.first, pair.type, a[i], b[i]);
            const std::uint64_t want = test::evaluate(pair.second, pair.type, between, c[i]);
            REQUIRE(test::same_bits(pair.type, element_of(pair.type, out, i), want));
          }
          REQUIRE(element_of(pair.type, out, n) == behind);
        }
      }
    }
  }
  CHECK(count == 9 * 4 * 2);
  CHECK(host::find_pair(Op::add, Op::div, DType::f32) == nullptr);
  CHECK(host::find_pair(Op::add, Op::add, DType::i32) == nullptr);
}
