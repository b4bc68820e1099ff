// Tensors of every type on a device against the same on the host: equal bits, NaN aside, in all but
// sums and products of reals, whose order differs.
#include <functional>
#include <random>

#include "forebay/compute/math.hpp"
#include "forebay/compute/normalize.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/reference.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;

namespace {

constexpr DType kTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                            DType::i64, DType::i32, DType::u8,  DType::boolean};

std::vector<double> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back((static_cast<double>(random() % 4001) - 2000) / 64);
  }
  return values;
}

struct Pair {
  test::GpuCompute gpu;
  Device& host = gpu.runtime.device("host");

  /// What `function` gives on both devices from equal tensors.
  std::pair<Tensor, Tensor> run(const std::function<Tensor(const Tensor&, const Tensor&)>& function,
                                DType type, const Dims& shape) {
    const auto count = static_cast<std::size_t>(checked_numel(shape));
    const auto a = numbers(count, 1);
    const auto b = numbers(count, 2);
    const auto on = [&](Device& device) {
      return function(from_host<double>(a, shape, device, type),
                      from_host<double>(b, shape, device, type));
    };
    return {on(gpu.device), on(host)};
  }

  void check_same(const char* name,
                  const std::function<Tensor(const Tensor&, const Tensor&)>& function, DType type,
                  const Dims& shape) {
    const auto [device, host_result] = run(function, type, shape);
    INFO(name << " of " << to_string(type) << " " << to_string(shape));
    REQUIRE(device.dtype() == host_result.dtype());
    REQUIRE(device.shape() == host_result.shape());
    // Exactly as they are, by way of the widest type of their category.
    const bool real = category_of(device.dtype()) == Category::real;
    const DType wide = real ? DType::f64 : DType::i64;
    const auto bits = [&](const Tensor& tensor) {
      std::vector<std::uint64_t> all;
      if (real) {
        for (const double v : tensor.to(wide).to_host<double>()) all.push_back(test::bits_of(v));
      } else {
        for (const std::int64_t v : tensor.to(wide).to_host<std::int64_t>()) {
          all.push_back(test::bits_of(v));
        }
      }
      return all;
    };
    const auto got = bits(device);
    const auto want = bits(host_result);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (test::same_bits(wide, got[i], want[i])) continue;
      FAIL("element " << i << " is " << test::show(wide, got[i]) << ", not "
                      << test::show(wide, want[i]));
    }
  }
};

}  // namespace

TEST_CASE("functions of every type have the host's bits") {
  FOREBAY_REQUIRE_DEVICE();
  Pair pair;
  using F = Tensor (*)(Tensor);
  const std::pair<const char*, F> functions[] = {
      {"exp", &exp},     {"exp2", &exp2},         {"expm1", &expm1},     {"log", &log},
      {"log2", &log2},   {"log10", &log10},       {"log1p", &log1p},     {"sqrt", &sqrt},
      {"rsqrt", &rsqrt}, {"sin", &sin},           {"cos", &cos},         {"tan", &tan},
      {"asin", &asin},   {"acos", &acos},         {"atan", &atan},       {"sinh", &sinh},
      {"cosh", &cosh},   {"tanh", &tanh},         {"erf", &erf},         {"gelu", &gelu},
      {"silu", &silu},   {"softplus", &softplus}, {"sigmoid", &sigmoid}, {"isnan", &isnan}};
  for (const DType type : kTypes) {
    for (const auto& [name, function] : functions) {
      const F f = function;
      pair.check_same(name, [f](const Tensor& a, const Tensor&) { return f(a); }, type, {40, 33});
    }
  }
}

TEST_CASE("operations of every type have the host's bits, strided and broadcast too") {
  FOREBAY_REQUIRE_DEVICE();
  Pair pair;
  for (const DType type : kTypes) {
    const Dims shape{24, 31};
    const auto check = [&](const char* name, const auto& function) {
      pair.check_same(name, function, type, shape);
      pair.check_same(
          name,
          [&](const Tensor& a, const Tensor& b) {
            return function(flip(a, 0).transpose(), narrow(b, 0, 3, 1).reshape({31, 1}));
          },
          type, shape);
    };
    check("add", [](const Tensor& a, const Tensor& b) { return a + b; });
    check("mul", [](const Tensor& a, const Tensor& b) { return a * b; });
    check("div", [](const Tensor& a, const Tensor& b) { return a / b; });
    check("less", [](const Tensor& a, const Tensor& b) { return less(a, b); });
    check("where", [](const Tensor& a, const Tensor& b) { return where(greater(a, b), a, b); });
    check("cast", [](const Tensor& a, const Tensor& b) {
      return a.to(DType::f16) + b.to(DType::i32) + a.to(DType::u8);
    });
    if (type == DType::boolean) continue;
    check("floor_divide", [](const Tensor& a, const Tensor& b) { return floor_divide(a, b); });
    check("remainder", [](const Tensor& a, const Tensor& b) { return remainder(a, b); });
    check("pow", [](const Tensor& a, const Tensor& b) { return pow(abs(a), b); });
    check("fma", [](const Tensor& a, const Tensor& b) { return fma(a, b, a); });
    check("clamp", [](const Tensor& a, const Tensor& b) { return clamp(a, -b, b); });
  }
}

TEST_CASE("reductions of every type agree with the host") {
  FOREBAY_REQUIRE_DEVICE();
  Pair pair;
  const std::vector<int> axes[] = {{}, {0}, {1}};
  for (const DType type : kTypes) {
    for (const Dims& shape : {Dims{37, 1001}, Dims{1001, 37}, Dims{1, 300'000}}) {
      for (const std::vector<int>& axis : axes) {
        const auto check = [&](const char* name,
                               const std::function<Tensor(const Tensor&)>& function) {
          pair.check_same(
              name, [&](const Tensor& a, const Tensor&) { return function(a); }, type, shape);
        };
        check("min", [&](const Tensor& a) { return a.min(axis); });
        check("max", [&](const Tensor& a) { return a.max(axis); });
        check("argmin", [&](const Tensor& a) { return a.argmin(axis); });
        check("argmax", [&](const Tensor& a) { return a.argmax(axis); });
        check("any", [&](const Tensor& a) { return a.any(axis); });
        check("all", [&](const Tensor& a) { return a.all(axis); });
        if (category_of(type) != Category::real) {
          check("sum", [&](const Tensor& a) { return a.sum(axis); });
          check("prod", [&](const Tensor& a) { return a.prod(axis); });
          continue;
        }
        const auto [device, host] =
            pair.run([&](const Tensor& a, const Tensor&) { return abs(a).sum(axis); }, type, shape);
        const auto got = device.to(DType::f64).to_host<double>();
        const auto want = host.to(DType::f64).to_host<double>();
        for (std::size_t i = 0; i < got.size(); ++i) {
          REQUIRE(((got[i] == want[i]) || got[i] == Approx(want[i]).epsilon(0.01)));
        }
      }
    }
  }
}

TEST_CASE("normalisations agree with the host") {
  FOREBAY_REQUIRE_DEVICE();
  Pair pair;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto close = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& function) {
      const auto [device, host] = pair.run(function, type, {64, 257});
      const auto got = device.to(DType::f64).to_host<double>();
      const auto want = host.to(DType::f64).to_host<double>();
      const double within = type == DType::bf16 ? 0.01 : type == DType::f16 ? 0.002 : 1e-5;
      for (std::size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i] == Approx(want[i]).epsilon(within).margin(within));
      }
    };
    close([](const Tensor& a, const Tensor&) { return softmax(a); });
    close([](const Tensor& a, const Tensor&) { return log_softmax(a, 0); });
    close([](const Tensor& a, const Tensor& b) { return layer_norm(a, 1, b); });
    close([](const Tensor& a, const Tensor&) { return a.var(std::vector<int>{1}); });
  }
}

TEST_CASE("parts and picked elements are the host's") {
  FOREBAY_REQUIRE_DEVICE();
  Pair pair;
  for (const DType type : kTypes) {
    const Dims shape{9, 35};
    const auto check = [&](const char* name, const auto& function) {
      pair.check_same(name, function, type, shape);
    };
    check("slice", [](const Tensor& a, const Tensor&) { return slice(a, 1, -1, kSliceEnd, -3); });
    check("cat", [](const Tensor& a, const Tensor& b) {
      return cat(std::vector<Tensor>{a, narrow(b, 1, 1, 3), flip(a, 1)}, 1);
    });
    check("index_select", [](const Tensor& a, const Tensor&) {
      const std::vector<std::int32_t> index{3, 3, 0, 8};
      return index_select(a, 0, from_host<std::int32_t>(index, {4}, a.device()));
    });
    check("gather", [](const Tensor& a, const Tensor&) {
      const Tensor last = a.argmax(std::vector<int>{1}, true);
      return gather(a, 1, last);
    });
  }
  CHECK_THROWS_AS(
      index_select(zeros({3}, pair.gpu.device), 0,
                   from_host<std::int32_t>(std::vector<std::int32_t>{3}, {1}, pair.gpu.device)),
      ShapeError);
}

TEST_CASE("random numbers of both types are the host's") {
  FOREBAY_REQUIRE_DEVICE();
  Pair pair;
  for (const DType type : {DType::f32, DType::f64}) {
    for (const auto make : {&random_uniform, &random_normal}) {
      const auto got = make({1001}, 77, pair.gpu.device, type).to(DType::f64).to_host<double>();
      const auto want = make({1001}, 77, pair.host, type).to(DType::f64).to_host<double>();
      CHECK(got == want);
    }
  }
}
