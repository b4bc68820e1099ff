#include "compute/convert.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/compute/all_types.hpp"
#include "tests/compute/host/loops_check.hpp"

using namespace forebay;

TEST_CASE("whole numbers become the nearest real ones, at any length") {
  for (const std::size_t count : {0U, 1U, 3U, 16U, 17U, 1000U}) {
    std::vector<std::int32_t> source(count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      source[i] = static_cast<std::int32_t>(i * 2'654'435'761U);
    }
    std::vector<float> target(count + 1, -1.0F);
    compute::convert(source.data(), DType::i32, target.data(), DType::f32, count);
    for (std::size_t i = 0; i < count; ++i) REQUIRE(target[i] == static_cast<float>(source[i]));
    CHECK(target[count] == -1.0F);
  }
}

TEST_CASE("real numbers are cut toward zero, saturate, and NaN gives 0") {
  using Limits = std::numeric_limits<float>;
  std::vector<float> source;
  std::vector<std::int32_t> want;
  for (int i = 0; i < 9; ++i) {
    for (const auto& [real, whole] :
         std::vector<std::pair<float, std::int32_t>>{{1.9F, 1},
                                                     {-1.9F, -1},
                                                     {-0.0F, 0},
                                                     {3e9F, 2'147'483'647},
                                                     {-3e9F, -2'147'483'647 - 1},
                                                     {Limits::infinity(), 2'147'483'647},
                                                     {-Limits::infinity(), -2'147'483'647 - 1},
                                                     {Limits::quiet_NaN(), 0},
                                                     {16'777'217.0F, 16'777'216}}) {
      source.push_back(real);
      want.push_back(whole);
    }
  }
  std::vector<std::int32_t> target(source.size());
  compute::convert(source.data(), DType::f32, target.data(), DType::i32, source.size());
  CHECK(target == want);
}

TEST_CASE("equal types are copied bit by bit") {
  const std::vector<std::uint32_t> source = {0x7fc12345U, 0x80000000U, 1U};
  std::vector<std::uint32_t> target(3);
  compute::convert(source.data(), DType::f32, target.data(), DType::f32, 3);
  CHECK(target == source);
  compute::convert(nullptr, DType::i32, nullptr, DType::i32, 0);
}

TEST_CASE("every type becomes every other as a program casts it") {
  for (const DType from : testing::kAllTypes) {
    for (const DType to : testing::kAllTypes) {
      // More than a block, so that the second one begins where it should.
      const auto values = testing::values_of(from, 2100);
      std::vector<std::byte> target(values.size() * size_of(to));
      compute::convert(testing::memory_of(from, values).data(), from, target.data(), to,
                       values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        INFO(to_string(from) << " " << test::show(from, values[i]) << " to " << to_string(to));
        REQUIRE(test::same_bits(to, testing::element_of(to, target, i),
                                test::cast_bits(values[i], from, to)));
      }
    }
  }
}
