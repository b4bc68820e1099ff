#include "forebay/compute/dtype.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/compute/all_types.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

half half_of(std::uint16_t bits) {
  half value;
  value.bits = bits;
  return value;
}

}  // namespace

TEST_CASE("types know their size, name and category") {
  CHECK(size_of(DType::f64) == 8);
  CHECK(size_of(DType::bf16) == 2);
  CHECK(size_of(DType::boolean) == 1);
  CHECK(to_string(DType::f16) == "f16");
  CHECK(to_string(DType::boolean) == "bool");
  CHECK(category_of(DType::bf16) == Category::real);
  CHECK(category_of(DType::u8) == Category::integer);
  CHECK(category_of(DType::boolean) == Category::boolean);
  CHECK(dtype_of<half> == DType::f16);
  CHECK(dtype_of<std::int64_t> == DType::i64);
  CHECK(dtype_of<bool> == DType::boolean);
}

TEST_CASE("promotion is PyTorch's table") {
  // Rows and columns in the order of testing::kAllTypes.
  const char* const table[] = {
      "f64 f64 f64 f64 f64 f64 f64 f64",  "f64 f32 f32 f32 f32 f32 f32 f32",
      "f64 f32 f16 f32 f16 f16 f16 f16",  "f64 f32 f32 bf16 bf16 bf16 bf16 bf16",
      "f64 f32 f16 bf16 i64 i64 i64 i64", "f64 f32 f16 bf16 i64 i32 i32 i32",
      "f64 f32 f16 bf16 i64 i32 u8 u8",   "f64 f32 f16 bf16 i64 i32 u8 bool"};
  for (std::size_t a = 0; a < 8; ++a) {
    std::string row;
    for (const DType b : testing::kAllTypes) {
      row += (row.empty() ? "" : " ") + std::string(to_string(promote(testing::kAllTypes[a], b)));
    }
    CHECK(row == table[a]);
  }
}

TEST_CASE("every half becomes a float and comes back") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const half value = half_of(static_cast<std::uint16_t>(bits));
    const auto wide = static_cast<float>(value);
    const unsigned exponent = bits >> 10 & 31U;
    const unsigned fraction = bits & 1023U;
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    if (exponent == 31 && fraction != 0) {
      REQUIRE(std::isnan(wide));
      REQUIRE(std::isnan(static_cast<float>(half(wide))));
      continue;
    }
    const double want = exponent == 31 ? std::numeric_limits<double>::infinity()
                        : exponent == 0
                            ? std::ldexp(fraction, -24)
                            : std::ldexp(1024.0 + fraction, static_cast<int>(exponent) - 25);
    REQUIRE(static_cast<double>(wide) == sign * want);
    REQUIRE(std::signbit(wide) == std::signbit(sign));
    REQUIRE(half(wide).bits == bits);
  }
}

TEST_CASE("halves round to the nearest, ties to even") {
  const auto rounded = [](float value) { return static_cast<float>(half(value)); };
  CHECK(rounded(65519.996F) == 65504.0F);
  CHECK(std::isinf(rounded(65520.0F)));
  CHECK(rounded(1.0F + 0x1p-11F) == 1.0F);
  CHECK(rounded(1.0F + 0x1p-11F + 0x1p-23F) == 1.0F + 0x1p-10F);
  CHECK(rounded(1.0F + 0x3p-11F) == 1.0F + 0x1p-9F);
  CHECK(rounded(0x1p-25F) == 0.0F);
  CHECK(rounded(0x1.000002p-25F) == 0x1p-24F);
  CHECK(rounded(0x3p-25F) == 0x1p-23F);
  CHECK(rounded(0x1.ffffffp-15F) == 0x1p-14F);
  // Between two neighbours the nearer one, whatever lies between.
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint16_t>(random() % 0x7bffU);
    const auto low = static_cast<float>(half_of(bits));
    const auto high = static_cast<float>(half_of(static_cast<std::uint16_t>(bits + 1)));
    const float part = static_cast<float>(random() % 4097) / 4096.0F;
    const float value = low + (high - low) * part;
    const float got = rounded(value);
    const float up = high - value;
    const float down = value - low;
    REQUIRE(got == (up < down ? high : down < up ? low : (bits & 1U) != 0 ? high : low));
    REQUIRE(rounded(-value) == -got);
  }
}

TEST_CASE("bfloat16 is the upper half of a float, rounded") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    bfloat16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const auto wide = static_cast<float>(value);
    if (!std::isnan(wide)) REQUIRE(bfloat16(wide).bits == bits);
  }
  const auto rounded = [](float value) { return static_cast<float>(bfloat16(value)); };
  CHECK(rounded(1.0F + 0x1p-8F) == 1.0F);
  CHECK(rounded(1.0F + 0x3p-8F) == 1.0F + 0x1p-6F);
  CHECK(rounded(1.0F + 0x1p-8F + 0x1p-23F) == 1.0F + 0x1p-7F);
  CHECK(std::isinf(rounded(std::numeric_limits<float>::max())));
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
}
