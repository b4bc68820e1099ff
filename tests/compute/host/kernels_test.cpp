#include "compute/host/kernels.hpp"

#include <numeric>
#include <random>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("there is a loop for every operation on the types it has") {
  const DType f = DType::f32;
  const DType i = DType::i32;
  for (const Op op :
       {Op::neg, Op::relu, Op::add, Op::sub, Op::mul, Op::min, Op::max, Op::greater, Op::equal}) {
    CHECK(host::find_kernel(op, f, f) != nullptr);
    CHECK(host::find_kernel(op, i, i) != nullptr);
    CHECK(host::find_kernel(op, i, f) == nullptr);
  }
  for (const Op op : {Op::exp, Op::log, Op::sqrt, Op::div}) {
    CHECK(host::find_kernel(op, f, f) != nullptr);
    CHECK(host::find_kernel(op, i, i) == nullptr);
  }
  for (const DType a : {f, i}) {
    CHECK(host::find_kernel(Op::to_f32, a, f) != nullptr);
    CHECK(host::find_kernel(Op::to_i32, a, i) != nullptr);
    CHECK(host::find_kernel(Op::select, a, f) != nullptr);
    CHECK(host::find_kernel(Op::select, a, i) != nullptr);
  }
  CHECK(host::find_kernel(Op::random_uniform, i, f) != nullptr);
  CHECK(host::find_kernel(Op::random_normal, i, f) != nullptr);
}

TEST_CASE("a loop may write over its operands, and beyond nothing") {
  const host::Kernel add = host::find_kernel(Op::add, DType::f32, DType::f32);
  for (std::size_t n = 0; n <= 70; ++n) {
    std::vector<float> a(n + 2, 100.0F);
    std::iota(a.begin() + 1, a.end() - 1, 0.0F);
    add(a.data() + 1, a.data() + 1, nullptr, a.data() + 1, n, 0);
    REQUIRE(a.front() == 100);
    REQUIRE(a.back() == 100);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(a[i + 1] == 2.0F * static_cast<float>(i));
  }
}

TEST_CASE("sums of every length up to a block") {
  std::mt19937 random(1);
  std::vector<float> x(1024);
  std::vector<std::uint32_t> u(1024);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random() % 1000);
    u[i] = static_cast<std::uint32_t>(random());
  }
  double sum = 0;
  std::uint32_t wrapped = 0;
  for (std::size_t n = 0; n <= 1024; ++n) {
    REQUIRE(host::sum(x.data(), n) == static_cast<float>(sum));
    REQUIRE(host::sum(u.data(), n) == wrapped);
    if (n < 1024) {
      sum += x[n];
      wrapped += u[n];
    }
  }
}

TEST_CASE("a short sum goes in order") {
  // Any other order keeps the small ones.
  const std::vector<float> x{1.0F, 0x1p-24F, 0x1p-24F, 0x1p-24F, 0x1p-24F};
  CHECK(host::sum(x.data(), 5) == 1.0F);
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
    REQUIRE(host::sum(x.data(), n) == lanes[0]);
  }
}

TEST_CASE("sums by column are double") {
  std::vector<double> sums(5, 0.0);
  const std::vector<float> x{1.0F, 0x1p-30F, -3.0F, 0.0F, 1e30F};
  for (int i = 0; i < 3; ++i) host::accumulate(sums.data(), x.data(), 5);
  CHECK(sums[0] == 3);
  CHECK(sums[1] == 3 * 0x1p-30);
  CHECK(sums[2] == -9);
  std::vector<std::uint32_t> counts{0xffffffffU};
  const std::uint32_t two = 2;
  host::accumulate(counts.data(), &two, 1);
  CHECK(counts[0] == 1);
}
