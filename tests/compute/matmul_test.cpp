#include <random>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

// Small whole numbers: every order of summation is exact.
std::vector<float> whole_numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(random() % 9) - 4.0F;
  return values;
}

std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, std::size_t m,
                           std::size_t n, std::size_t k) {
  std::vector<float> c(m * n, 0.0F);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
  return c;
}

}  // namespace

TEST_CASE("products of all small extents, plain and transposed") {
  const Host host;
  for (const std::size_t m : {1U, 2U, 5U, 33U}) {
    for (const std::size_t n : {1U, 3U, 17U}) {
      for (const std::size_t k : {1U, 4U, 31U}) {
        const auto a = whole_numbers(m * k, 1);
        const auto b = whole_numbers(k * n, 2);
        const auto expected = product(a, b, m, n, k);
        const auto d = [](std::size_t x) { return static_cast<std::int64_t>(x); };
        const Tensor plain_a = host.f32(a, {d(m), d(k)});
        const Tensor plain_b = host.f32(b, {d(k), d(n)});
        // The same matrices, stored as their transposes.
        const Tensor turned_a = plain_a.transpose().reshape({-1}).reshape({d(k), d(m)}).transpose();
        const Tensor turned_b = plain_b.transpose().reshape({-1}).reshape({d(n), d(k)}).transpose();
        INFO(m << " " << n << " " << k);
        CHECK(matmul(plain_a, plain_b).to_host<float>() == expected);
        CHECK(matmul(turned_a, plain_b).to_host<float>() == expected);
        CHECK(matmul(plain_a, turned_b).to_host<float>() == expected);
        CHECK(matmul(turned_a, turned_b).to_host<float>() == expected);
        CHECK(matmul(plain_a, plain_b).shape() == Dims{d(m), d(n)});
      }
    }
  }
}

TEST_CASE("operands are evaluated, and copied when they lie otherwise") {
  const Host host;
  const Tensor row = host.f32({1, 2, 3});
  const Tensor repeated = row.broadcast_to({2, 3});
  const Tensor column = host.f32({1, 1, 1}, {3, 1});
  CHECK(matmul(repeated, column).to_host<float>() == std::vector<float>{6, 6});
  CHECK(matmul(row.reshape({3, 1}).broadcast_to({3, 2}).transpose(), column).to_host<float>() ==
        std::vector<float>{6, 6});
  CHECK(matmul(repeated + 1.0, column * 2.0).to_host<float>() == std::vector<float>{18, 18});
  CHECK(matmul(full({2, 3}, 2.0F, host.device), column).to_host<float>() ==
        std::vector<float>{6, 6});
  CHECK(matmul(host.f32({2}, {1, 1}).broadcast_to({2, 3}), column).to_host<float>() ==
        std::vector<float>{6, 6});
  CHECK(host.fusion().ends.consumer.load() == 2);
}

TEST_CASE("empty products") {
  const Host host;
  const auto z = [&](const Dims& shape) { return zeros(shape, host.device); };
  CHECK(matmul(z({2, 0}), z({0, 3})).to_host<float>() == std::vector<float>(6, 0.0F));
  CHECK(matmul(z({0, 4}), z({4, 3})).shape() == Dims{0, 3});
  CHECK(matmul(z({2, 4}), z({4, 0})).to_host<float>().empty());
}

TEST_CASE("matrices that do not fit are named") {
  const Host host;
  const Tensor a = counting(host, {2, 3});
  const std::string message = message_of<ShapeError>([&] { (void)matmul(a, a); });
  CHECK(contains(message, "f32 [2, 3] and f32 [2, 3]"));
  CHECK_THROWS_AS(matmul(a, host.f32({1, 2, 3})), ShapeError);
  CHECK_THROWS_AS(matmul(counting(host, {1, 2, 3}), counting(host, {3, 2})), ShapeError);
  CHECK(contains(message_of<ShapeError>([&] {
                   (void)matmul(a, zeros({3, 2}, host.device, DType::i32));
                 }),
                 "i32 [3, 2]"));
}

TEST_CASE("products give the same bits on every run") {
  const Host host;
  const Tensor a = random_normal({256, 256}, 1, host.device).eval();
  const Tensor b = random_normal({256, 256}, 2, host.device).eval();
  const auto first = matmul(a, b).to_host<float>();
  for (int i = 0; i < 20; ++i) {
    const Tensor elsewhere = empty({1 + i * 77}, host.device);
    REQUIRE(matmul(a, b).to_host<float>() == first);
  }
}
