// Reductions beside sum and mean, over all types.
#include <limits>
#include <random>

#include "tests/compute/all_types.hpp"
#include "tests/compute/reference.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

using Whole = std::vector<std::int64_t>;

// Small whole numbers, which every type but booleans holds exactly.
std::vector<double> numbers(std::size_t n) {
  std::mt19937 random(6);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(random() % 3));
  return values;
}

}  // namespace

TEST_CASE("every reduction of every type along every axis agrees with a plain loop") {
  const Host host;
  const Dims shape{7, 40, 33};
  const auto values = numbers(7 * 40 * 33);
  for (const DType type : kAllTypes) {
    const Tensor t = from_host<double>(values, shape, host.device, type);
    for (int axis = 0; axis < 3; ++axis) {
      INFO(to_string(type) << " along " << axis);
      const auto d = static_cast<std::size_t>(axis);
      const std::vector<int> axes{axis};
      const std::int64_t extent = shape[d];
      const std::int64_t stride = contiguous_strides(shape)[d];
      std::vector<double> sum, prod, least, most;
      Whole first_least, first_most;
      std::vector<bool> any, all;
      for (std::int64_t i = 0; i < 7 * 40 * 33; ++i) {
        if (i / stride % extent != 0) continue;
        double s = 0, p = 1, lo = 9, hi = -9;
        std::int64_t at_lo = 0, at_hi = 0;
        for (std::int64_t k = 0; k < extent; ++k) {
          double v = values[static_cast<std::size_t>(i + k * stride)];
          if (type == DType::boolean) v = v != 0 ? 1 : 0;
          s += v;
          p *= v;
          if (v < lo) at_lo = k;
          if (v > hi) at_hi = k;
          lo = std::min(lo, v);
          hi = std::max(hi, v);
        }
        sum.push_back(s);
        prod.push_back(p);
        least.push_back(lo);
        most.push_back(hi);
        first_least.push_back(at_lo);
        first_most.push_back(at_hi);
        any.push_back(hi > 0);
        all.push_back(lo > 0);
      }
      const auto same_as = [&](const Tensor& got, const std::vector<double>& want) {
        // What a narrow type cannot hold is rounded.
        return got.to(DType::f64).to_host<double>() ==
               from_host<double>(want, got.shape(), host.device, got.dtype())
                   .to(DType::f64)
                   .to_host<double>();
      };
      CHECK(same_as(t.sum(axes), sum));
      CHECK(same_as(t.prod(axes), prod));
      CHECK(same_as(t.min(axes), least));
      CHECK(same_as(t.max(axes), most));
      CHECK(t.argmin(axes).to_host<std::int64_t>() == first_least);
      CHECK(t.argmax(axes).to_host<std::int64_t>() == first_most);
      CHECK(t.any(axes).to_host<bool>() == any);
      CHECK(t.all(axes).to_host<bool>() == all);
      CHECK(t.max(axes, true).shape()[d] == 1);
      if (category_of(type) != Category::real) continue;
      const auto mean = t.mean(axes).to(DType::f64).to_host<double>();
      for (std::size_t i = 0; i < mean.size(); ++i) {
        REQUIRE(mean[i] == Approx(sum[i] / static_cast<double>(extent)).epsilon(0.005));
      }
    }
  }
}

TEST_CASE("results have PyTorch's types") {
  const Host host;
  for (const DType type : kAllTypes) {
    const Tensor t = ones({3}, host.device, type).eval();
    const bool real = category_of(type) == Category::real;
    CHECK(t.sum().dtype() == (real ? type : DType::i64));
    CHECK(t.prod().dtype() == (real ? type : DType::i64));
    CHECK(t.min().dtype() == type);
    CHECK(t.argmax().dtype() == DType::i64);
    CHECK(t.any().dtype() == DType::boolean);
    if (real) {
      CHECK(t.var().dtype() == type);
      CHECK(t.norm().dtype() == type);
    } else {
      CHECK_THROWS_AS(t.mean(), ShapeError);
      CHECK_THROWS_AS(t.var(), ShapeError);
      CHECK_THROWS_AS(t.norm(), ShapeError);
    }
  }
}

TEST_CASE("NaN wins, signs of zero are ordered, ties take the first") {
  const Host host;
  CHECK(std::isnan(host.f32({1, kNan, -kInf}).min().item()));
  CHECK(std::isnan(host.f32({kNan, kInf}).max().item()));
  CHECK(host.f32({1, kNan, -kInf, kNan}).argmin().item<std::int64_t>() == 1);
  CHECK(host.f32({kInf, 1, kInf}).argmax().item<std::int64_t>() == 0);
  CHECK(std::signbit(host.f32({0.0F, -0.0F}).min().item()));
  CHECK_FALSE(std::signbit(host.f32({-0.0F, 0.0F}).max().item()));
  CHECK(host.f32({-kInf, -kInf}).max().item() == -kInf);
  CHECK(host.i32({5, 5, 5}).argmax().item<std::int64_t>() == 0);
  // Long ones, over several items and threads.
  std::vector<float> long_row(300'000, 1.0F);
  long_row[200'000] = 3;
  long_row[250'000] = 3;
  CHECK(host.f32(long_row).argmax().item<std::int64_t>() == 200'000);
  long_row[299'999] = kNan;
  CHECK(host.f32(long_row).argmax().item<std::int64_t>() == 299'999);
  CHECK(std::isnan(host.f32(long_row).min().item()));
}

TEST_CASE("an index counts over all given axes") {
  const Host host;
  Tensor t = zeros({3, 4, 5}, host.device).eval();
  std::vector<float> values(60, 0.0F);
  values[1 * 20 + 2 * 5 + 3] = 1;
  t = host.f32(values, {3, 4, 5});
  CHECK(t.argmax().item<std::int64_t>() == 33);
  const std::vector<int> ends{0, 2};
  CHECK(t.argmax(ends).to_host<std::int64_t>() == Whole{0, 0, 1 * 5 + 3, 0});
  const std::vector<int> last{-1};
  CHECK(t.transpose(0, 1).argmax(last).to_host<std::int64_t>()[2 * 3 + 1] == 3);
}

TEST_CASE("reductions of nothing") {
  const Host host;
  const Tensor none = zeros({0, 3}, host.device);
  const std::vector<int> first{0};
  const std::vector<int> second{1};
  CHECK(none.prod().item() == 1);
  CHECK_FALSE(none.any().item<bool>());
  CHECK(none.all().item<bool>());
  CHECK(none.all(first).to_host<bool>() == std::vector<bool>{true, true, true});
  CHECK(none.max(second).shape() == Dims{0});
  CHECK(message_of<ShapeError>([&] { (void)none.max(first); }) ==
        "max of no elements: axis 0 of shape [0, 3]");
  CHECK_THROWS_AS(none.argmin(), ShapeError);
  CHECK(std::isnan(none.var().item()));
  CHECK(none.norm().item() == 0);
}

TEST_CASE("halves add up in f32 and are rounded once") {
  const Host host;
  // In halves a running sum of ones sticks at 2048.
  CHECK(ones({10'000}, host.device, DType::f16).eval().sum().item() == 10'000);
  CHECK(std::isinf(ones({70'000}, host.device, DType::f16).eval().sum().item()));
  CHECK(full({300}, 300.0F, host.device).to(DType::f16).eval().norm().item() ==
        Approx(300 * std::sqrt(300.0)).epsilon(0.001));
  CHECK(ones({1000}, host.device, DType::bf16).eval().mean().item() == 1);
}

TEST_CASE("long sums of f64 keep their digits") {
  const Host host;
  std::vector<double> values(3'000'001);
  long double exact = 0;
  std::mt19937_64 random(9);
  for (double& v : values) {
    v = std::uniform_real_distribution<double>(0, 1)(random);
    exact += static_cast<long double>(v);
  }
  const double sum = from_host<double>(values, {3'000'001}, host.device).sum().item<double>();
  CHECK(std::abs(static_cast<long double>(sum) - exact) <= 32 * 0x1p-53L * exact);
}

TEST_CASE("variances and norms of f64 against long doubles") {
  const Host host;
  constexpr std::int64_t kRows = 700;
  constexpr std::int64_t kColumns = 90;
  std::mt19937_64 random(12);
  std::vector<double> values;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    values.push_back(std::uniform_real_distribution<double>(-3, 5)(random));
  }
  const Tensor t = from_host<double>(values, {kRows, kColumns}, host.device);
  const auto check = [&](const std::vector<int>& axes, std::int64_t results, std::int64_t count,
                         std::int64_t result_step, std::int64_t step) {
    const auto unbiased = t.var(axes).to_host<double>();
    const auto biased = t.var(axes, false).to_host<double>();
    const auto norm = t.norm(axes).to_host<double>();
    for (std::int64_t r = 0; r < results; ++r) {
      const auto element = [&](std::int64_t k) -> long double {
        return values[static_cast<std::size_t>(r * result_step + k * step)];
      };
      long double mean = 0;
      long double length = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        mean += element(k) / static_cast<long double>(count);
        length += element(k) * element(k);
      }
      long double square = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        square += (element(k) - mean) * (element(k) - mean);
      }
      const auto close = [](double got, long double want) {
        return std::abs(static_cast<long double>(got) - want) <= 1e-13L * want;
      };
      const auto at = static_cast<std::size_t>(r);
      REQUIRE(close(unbiased[at], square / static_cast<long double>(count - 1)));
      REQUIRE(close(biased[at], square / static_cast<long double>(count)));
      REQUIRE(close(norm[at], std::sqrt(length)));
    }
  };
  check({0}, kColumns, kRows, 1, kColumns);
  check({1}, kRows, kColumns, kColumns, 1);
  check({}, 1, kRows * kColumns, 0, 1);
}

TEST_CASE("variance by two passes, unbiased or not") {
  const Host host;
  const Tensor t = host.f32({1e6F + 1, 1e6F + 2, 1e6F + 3, 1e6F + 4});
  CHECK(t.var().item() == Approx(5.0 / 3.0));
  CHECK(t.var({}, false).item() == Approx(1.25));
  CHECK(std::isnan(host.f32({5}).var().item()));
  CHECK(host.f32({5}).var({}, false).item() == 0);
  const std::vector<int> last{-1};
  const Tensor m = host.f32({1, 2, 3, 5, 5, 5}, {2, 3});
  CHECK(m.var(last).to_host<float>() == std::vector<float>{1, 0});
  CHECK(m.var(last, true, true).shape() == Dims{2, 1});
  CHECK(host.f32({3, 4}).norm().item() == 5);
  CHECK(m.norm(last, true).shape() == Dims{2, 1});
}
