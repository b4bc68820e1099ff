#include "compute/host/reducers.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

// One row of f32 through `op`.
double row(ReduceOp op, const std::vector<float>& x, std::size_t n) {
  const host::Reducer& reducer = host::reducer_of(op, DType::f32);
  double state = 0;
  REQUIRE(reducer.state_bytes == sizeof state);
  reducer.start(&state, 1);
  reducer.row(&state, x.data(), n, 0);
  return state;
}

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::prod,   ReduceOp::min,
                             ReduceOp::max, ReduceOp::argmin, ReduceOp::argmax};
constexpr DType kTypes[] = {DType::f64, DType::f32, DType::i64,
                            DType::i32, DType::u8,  DType::boolean};

}  // namespace

TEST_CASE("sums of every length up to a block") {
  std::mt19937 random(1);
  std::vector<float> x(1024);
  std::vector<std::uint8_t> u(1024);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random() % 1000);
    u[i] = static_cast<std::uint8_t>(random());
  }
  const host::Reducer& bytes = host::reducer_of(ReduceOp::sum, DType::u8);
  double sum = 0;
  std::int64_t whole = 0;
  for (std::size_t n = 0; n <= 1024; ++n) {
    REQUIRE(row(ReduceOp::sum, x, n) == static_cast<float>(sum));
    std::int64_t state = 0;
    bytes.start(&state, 1);
    bytes.row(&state, u.data(), n, 0);
    REQUIRE(state == whole);
    if (n < 1024) {
      sum += x[n];
      whole += u[n];
    }
  }
}

TEST_CASE("a short sum goes in order, in f64") {
  CHECK(row(ReduceOp::sum, {1.0F, 0x1p-24F, 0x1p-24F, 0x1p-24F, 0x1p-24F}, 5) == 1.0 + 0x1p-22);
  // Any other order keeps the small ones.
  CHECK(row(ReduceOp::sum, {1.0F, 0x1p-53F, 0x1p-53F, 0x1p-53F, 0x1p-53F}, 5) == 1.0);
}

TEST_CASE("the order of a sum is 64 lanes, folded by halves") {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> between(-1, 1);
  for (const std::size_t n : {16U, 63U, 64U, 65U, 500U, 1024U}) {
    std::vector<float> x(n);
    for (float& v : x) v = between(random);
    float lanes[64] = {};
    for (std::size_t i = 0; i < n; ++i) lanes[i % 64] += x[i];
    for (std::size_t width = 32; width != 0; width /= 2) {
      for (std::size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    REQUIRE(row(ReduceOp::sum, x, n) == static_cast<double>(lanes[0]));
  }
}

TEST_CASE("sums by column are double") {
  const host::Reducer& reducer = host::reducer_of(ReduceOp::sum, DType::f32);
  std::vector<double> sums(5, 7.0);
  reducer.start(sums.data(), 5);
  const std::vector<float> x{1.0F, 0x1p-30F, -3.0F, 0.0F, 1e30F};
  const void* const rows[] = {x.data(), x.data(), x.data(), x.data()};
  for (const std::size_t count : {1U, 4U, 2U}) reducer.columns(sums.data(), rows, count, 5, 0);
  CHECK(sums[0] == 7);
  CHECK(sums[1] == 7 * 0x1p-30);
  CHECK(sums[2] == -21);
}

TEST_CASE("rows, columns and parts of every reduction agree with one value after the other") {
  for (const ReduceOp op : kOps) {
    for (const DType type : kTypes) {
      INFO(to_string(op) << " of " << to_string(type));
      const host::Reducer& reducer = host::reducer_of(op, type);
      const bool indexed = reducer.indices != nullptr;
      REQUIRE(reducer.state_bytes <= host::kMaxStateBytes);
      for (const std::size_t n : {std::size_t{1}, std::size_t{40}, std::size_t{700}}) {
        const auto values = values_of(type, n);
        const auto memory = memory_of(type, values);
        // Sums of infinities, and of reals in different orders, are no test of the loops.
        const bool exact = category_of(type) != Category::real || indexed || op == ReduceOp::min ||
                           op == ReduceOp::max;
        if (!exact) continue;
        alignas(16) std::byte whole[16], one[16], four[16], left[16], right[16];
        for (std::byte* state : {whole, one, four, left, right}) reducer.start(state, 1);
        reducer.row(whole, memory.data(), n, 10);
        const std::size_t half = n / 2;
        reducer.row(left, memory.data(), half, 10);
        reducer.row(right, memory.data() + half * size_of(type), n - half, 10 + half);
        reducer.join(left, right, 1);
        for (std::size_t i = 0; i < n; ++i) {
          const void* const value = memory.data() + i * size_of(type);
          reducer.columns(one, &value, 1, 1, 10 + i);
        }
        for (std::size_t i = 0; i < n; i += host::kRowsTogether) {
          const void* rows[host::kRowsTogether];
          const std::size_t count = std::min(host::kRowsTogether, n - i);
          for (std::size_t r = 0; r < count; ++r) rows[r] = &memory[(i + r) * size_of(type)];
          reducer.columns(four, rows, count, 1, 10 + i);
        }
        if (indexed) {
          for (std::byte* state : {whole, one, four, left}) reducer.indices(state, 1);
        }
        const DType total = indexed ? DType::i64 : rule_of(op, type).total;
        std::uint64_t bits[4] = {};
        std::memcpy(&bits[0], whole, size_of(total));
        std::memcpy(&bits[1], one, size_of(total));
        std::memcpy(&bits[2], left, size_of(total));
        std::memcpy(&bits[3], four, size_of(total));
        REQUIRE(test::same_bits(total, bits[0], bits[1]));
        REQUIRE(test::same_bits(total, bits[0], bits[2]));
        REQUIRE(test::same_bits(total, bits[0], bits[3]));
        if (indexed) {
          REQUIRE(bits[0] >= 10);
          REQUIRE(bits[0] < 10 + n);
        }
      }
    }
  }
}

TEST_CASE("of equal values the lowest index wins, and NaN wins over everything") {
  const auto index = [](ReduceOp op, const std::vector<float>& x) {
    const host::Reducer& reducer = host::reducer_of(op, DType::f32);
    alignas(16) std::byte state[16];
    reducer.start(state, 1);
    reducer.row(state, x.data(), x.size(), 0);
    reducer.indices(state, 1);
    std::int64_t at = 0;
    std::memcpy(&at, state, sizeof at);
    return at;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(index(ReduceOp::argmax, {1, 3, 2, 3}) == 1);
  CHECK(index(ReduceOp::argmin, {1, 0.0F, -0.0F, 0.0F}) == 1);
  CHECK(index(ReduceOp::argmin, {1, nan, -inf, nan}) == 1);
  CHECK(index(ReduceOp::argmax, {1, inf, nan}) == 2);
  CHECK(index(ReduceOp::argmax, {-inf, -inf}) == 0);
}

TEST_CASE("nothing reduces to the identity") {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
    for (const DType type : kTypes) {
      const ReduceRule rule = rule_of(op, type);
      std::uint64_t bits = 0;
      host::reducer_of(op, type).start(&bits, 1);
      CHECK(bits == test::identity_bits(rule.identity, rule.total));
    }
  }
}
