#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::testing;
namespace host = compute::host;

TEST_CASE("casts between all types of blocks, and random numbers") {
  CHECK(check_loops(host::loops_cast()) == 6 * 6 + 4);
}

TEST_CASE("narrow numbers are widened, rounded and narrowed") {
  for (const DType narrow : {DType::f16, DType::bf16}) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t bits = 0; bits < 65536; ++bits) all.push_back(bits);
    std::vector<float> wide(all.size());
    host::widening_kernel(narrow)(memory_of(narrow, all).data(), nullptr, nullptr, wide.data(),
                                  all.size(), 0);
    std::vector<std::byte> back(all.size() * 2);
    host::narrowing_kernel(narrow)(wide.data(), nullptr, nullptr, back.data(), all.size(), 0);
    std::vector<float> rounded(all.size());
    host::rounding_kernel(narrow)(wide.data(), nullptr, nullptr, rounded.data(), all.size(), 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      REQUIRE(test::same_bits(narrow, element_of(narrow, back, i), all[i]));
      REQUIRE(test::same_bits(DType::f32, test::bits_of(rounded[i]), test::bits_of(wide[i])));
    }
  }
}

TEST_CASE("by way of an odd float, a cast to a narrow type rounds once") {
  for (const DType from : {DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    for (const DType narrow : {DType::f16, DType::bf16}) {
      std::vector<std::uint64_t> values = values_of(from, 2000);
      if (from == DType::f64) {
        // Just beside the middle between two neighbours.
        for (int e = -30; e < 20; ++e) {
          for (const double off : {-0x1p-50, 0.0, 0x1p-50}) {
            values.push_back(test::bits_of(std::ldexp(1.0 + 0x1p-11 + 0x1p-8 + off, e)));
          }
        }
      }
      std::vector<float> odd(values.size());
      host::odd_kernel(from)(memory_of(from, values).data(), nullptr, nullptr, odd.data(),
                             values.size(), 0);
      std::vector<std::byte> out(values.size() * 2);
      host::narrowing_kernel(narrow)(odd.data(), nullptr, nullptr, out.data(), values.size(), 0);
      for (std::size_t i = 0; i < values.size(); ++i) {
        INFO(test::show(from, values[i]));
        const std::uint64_t got = element_of(narrow, out, i);
        // The nearest of the neighbours, exactly: quarters of an f64 hold all of these numbers.
        const double want = test::real_of(values[i], from);
        const double is = test::real_of(got, narrow);
        if (!std::isfinite(is) || !std::isfinite(want)) continue;
        for (const std::uint64_t beside : {got - 1, got + 1}) {
          const double other = test::real_of(beside & 0xffffU, narrow);
          if (std::isfinite(other)) REQUIRE(std::abs(is - want) <= std::abs(other - want));
        }
      }
    }
  }
}
