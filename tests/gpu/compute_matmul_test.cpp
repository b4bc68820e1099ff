// Matrix products on a device against a double-precision reference.
#include <cmath>
#include <random>

#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::MatmulArgs;

namespace {

struct Matrix {
  std::int64_t rows, columns, stride;
  std::vector<float> data;

  Matrix(std::int64_t r, std::int64_t c, std::int64_t padding, unsigned seed)
      : rows(r),
        columns(c),
        stride(c + padding),
        data(static_cast<std::size_t>(r * (c + padding))) {
    std::mt19937 random(seed);
    for (float& x : data) x = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  [[nodiscard]] double at(std::int64_t r, std::int64_t c, bool transposed) const {
    return data[static_cast<std::size_t>(transposed ? c * stride + r : r * stride + c)];
  }
};

struct Product {
  std::int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  std::int64_t a_padding = 0, b_padding = 0;
  unsigned misaligned = 0;  // elements, for all three
};

std::vector<float> multiply(GpuCompute& gpu, const Product& p, const Matrix& a, const Matrix& b) {
  const DeviceBlock a_block(gpu, (a.data.size() + 4) * 4, gpu.stream);
  const DeviceBlock b_block(gpu, (b.data.size() + 4) * 4, gpu.stream);
  const auto results = static_cast<std::size_t>(p.m * p.n);
  const DeviceBlock c_block(gpu, (results + 4) * 4, gpu.stream);
  float* const a_first = a_block.get<float>() + p.misaligned;
  float* const b_first = b_block.get<float>() + p.misaligned;
  float* const c_first = c_block.get<float>() + p.misaligned;
  gpu.backend.upload(a.data.data(), DType::f32, a_first, DType::f32, a.data.size(), gpu.stream);
  gpu.backend.upload(b.data.data(), DType::f32, b_first, DType::f32, b.data.size(), gpu.stream);
  gpu.backend.matmul({.m = p.m,
                      .n = p.n,
                      .k = p.k,
                      .a = a_first,
                      .a_stride = a.stride,
                      .a_transposed = p.a_transposed,
                      .b = b_first,
                      .b_stride = b.stride,
                      .b_transposed = p.b_transposed,
                      .c = c_first},
                     gpu.stream);
  std::vector<float> c(results);
  gpu.backend.download(c_first, c.data(), results * 4, gpu.stream);
  return c;
}

Matrix stored_a(const Product& p) {
  return p.a_transposed ? Matrix(p.k, p.m, p.a_padding, 1) : Matrix(p.m, p.k, p.a_padding, 1);
}
Matrix stored_b(const Product& p) {
  return p.b_transposed ? Matrix(p.n, p.k, p.b_padding, 2) : Matrix(p.k, p.n, p.b_padding, 2);
}

void check_product(GpuCompute& gpu, const Product& p) {
  INFO(p.m << " x " << p.k << " x " << p.n << (p.a_transposed ? ", a transposed" : "")
           << (p.b_transposed ? ", b transposed" : "") << ", padding " << p.a_padding << " and "
           << p.b_padding << ", off by " << p.misaligned);
  const Matrix a = stored_a(p);
  const Matrix b = stored_b(p);
  const std::vector<float> c = multiply(gpu, p, a, b);
  double worst = 0;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        sum += a.at(i, l, p.a_transposed) * b.at(l, j, p.b_transposed);
      }
      worst = std::max(
          worst, std::abs(sum - static_cast<double>(c[static_cast<std::size_t>(i * p.n + j)])));
    }
  }
  // f32 products of numbers below 1 keep seven digits; TF32's ten bits would show by far.
  CHECK(worst < 3e-7 * (static_cast<double>(p.k) + 3));
}

}  // namespace

TEST_CASE("matrix products of every orientation") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                            {1, 7, 5},
                                                                            {7, 1, 5},
                                                                            {5, 7, 1},
                                                                            {3, 3, 3},
                                                                            {33, 65, 17},
                                                                            {256, 32, 256},
                                                                            {64, 256, 256},
                                                                            {128, 100, 999}}) {
        check_product(gpu, {m, n, k, a, b});
      }
      check_product(gpu, {20, 30, 40, a, b, 3, 5});
      check_product(gpu, {20, 32, 40, a, b, 0, 0, 1});
    }
  }
}

TEST_CASE("a product has the same bits each time, at any address") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{256, 256, 256}, {16, 16, 20'000}}) {
    Product p{m, n, k};
    const Matrix a = stored_a(p);
    const Matrix b = stored_b(p);
    const std::vector<float> first = multiply(gpu, p, a, b);
    bool same = true;
    for (int again = 0; again < 10; ++again) {
      p.misaligned = again % 4;
      same = same && multiply(gpu, p, a, b) == first;
    }
    CHECK(same);
  }
}

TEST_CASE("plans are kept, the least recently used goes first, and a warm product makes none") {
  FOREBAY_REQUIRE_DEVICE();
  Config config;
  config.matmul.max_plans = 4;
  GpuCompute gpu(config);
  for (std::int64_t m = 1; m <= 10; ++m) check_product(gpu, {m, 8, 8});
  CHECK(gpu.device.counters().fusion.plans == 4);
  const std::uint64_t live = gpu.device.pool().stats().allocations.live;
  check_product(gpu, {10, 8, 8});
  CHECK(gpu.device.pool().stats().allocations.live == live);
}
