#include <functional>
#include <limits>

#include "forebay/compute/math.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

using Int = std::int32_t;
constexpr Int kMin = std::numeric_limits<Int>::min();
constexpr Int kMax = std::numeric_limits<Int>::max();

const std::vector<float> kFloats{0.0F,   -0.0F, 1.0F,   -1.0F,       0.5F,         -2.5F, 3.0F,
                                 kInf,   -kInf, kNan,   1e30F,       1e-40F,       7.0F,  -1e-45F,
                                 100.0F, 88.0F, -90.0F, 16777217.0F, 2147483648.0F};
const std::vector<Int> kInts{0, 1, -1, 2, -7, 100, kMax, kMin, kMax - 1, kMin + 1, 65536};

Int wrap(std::int64_t value) { return static_cast<Int>(static_cast<std::uint32_t>(value)); }

constexpr auto kMinimum = [](Tensor a, Tensor b) { return minimum(std::move(a), std::move(b)); };
constexpr auto kMaximum = [](Tensor a, Tensor b) { return maximum(std::move(a), std::move(b)); };

// Independent of the prelude: NaN wins, and -0 is below +0.
float least(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == 0 && b == 0) return std::signbit(a) || std::signbit(b) ? -0.0F : 0.0F;
  return std::min(a, b);
}
float largest(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == 0 && b == 0) return std::signbit(a) && std::signbit(b) ? -0.0F : 0.0F;
  return std::max(a, b);
}

template <typename T>
Tensor make(const Host& host, const std::vector<T>& values, const Dims& shape) {
  return from_host<T>(values, shape, host.device);
}

// All pairs of `values` in every shape class: as vectors, as a column against a row, turned, and
// one by one against a number without dimensions.
template <typename T, typename R = T>
void check_pairs(const Host& host, const std::vector<T>& values,
                 const std::function<Tensor(Tensor, Tensor)>& op,
                 const std::type_identity_t<std::function<R(T, T)>>& reference) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<T> left;
  std::vector<T> right;
  std::vector<R> expected;
  for (const T a : values) {
    for (const T b : values) {
      left.push_back(a);
      right.push_back(b);
      expected.push_back(reference(a, b));
    }
  }
  const Tensor a = make(host, left, {n * n});
  const Tensor b = make(host, right, {n * n});
  CHECK(same(op(a, b).template to_host<R>(), expected));
  const Tensor vector = make(host, values, {n});
  CHECK(same(op(vector.reshape({n, 1}), vector).template to_host<R>(), expected));
  const Tensor row_first = make(host, right, {n, n}).transpose();  // [j, i] holds values[i]
  CHECK(same(op(row_first, make(host, left, {n, n}).transpose())
                 .transpose()
                 .reshape({n * n})
                 .template to_host<R>(),
             [&] {
               std::vector<R> swapped;
               for (std::size_t i = 0; i < left.size(); ++i) {
                 swapped.push_back(reference(right[i], left[i]));
               }
               return swapped;
             }()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor one = make<T>(host, {values[i]}, Dims());
    const auto results = op(one, vector).template to_host<R>();
    for (std::size_t j = 0; j < values.size(); ++j) {
      REQUIRE(same(results[j], reference(values[i], values[j])));
    }
  }
}

template <typename T, typename R = T>
void check_each(const Host& host, const std::vector<T>& values,
                const std::function<Tensor(Tensor)>& op,
                const std::type_identity_t<std::function<R(T)>>& reference) {
  std::vector<R> expected;
  for (const T v : values) expected.push_back(reference(v));
  const auto n = static_cast<std::int64_t>(values.size());
  const Tensor vector = make(host, values, {n});
  CHECK(same(op(vector).template to_host<R>(), expected));
  CHECK(same(op(vector.broadcast_to({2, n}).transpose()).transpose().template to_host<R>(), [&] {
    std::vector<R> twice = expected;
    twice.insert(twice.end(), expected.begin(), expected.end());
    return twice;
  }()));
  CHECK(same(op(make<T>(host, {values[2]}, Dims())).template to_host<R>(),
             std::vector<R>{expected[2]}));
  CHECK(op(make(host, std::vector<T>{}, {3, 0})).template to_host<R>().empty());
  // More than a block and no multiple of one.
  std::vector<T> many;
  std::vector<R> many_expected;
  for (std::size_t i = 0; i < 2500; ++i) {
    many.push_back(values[i % values.size()]);
    many_expected.push_back(expected[i % values.size()]);
  }
  CHECK(same(op(make(host, many, {50, 50})).template to_host<R>(), many_expected));
}

}  // namespace

TEST_CASE("f32 arithmetic on every pair of special values") {
  const Host host;
  using F = std::function<float(float, float)>;
  check_pairs<float>(
      host, kFloats, [](Tensor a, Tensor b) { return a + b; }, F(std::plus<>()));
  check_pairs<float>(
      host, kFloats, [](Tensor a, Tensor b) { return a - b; }, F(std::minus<>()));
  check_pairs<float>(
      host, kFloats, [](Tensor a, Tensor b) { return a * b; }, F(std::multiplies<>()));
  check_pairs<float>(
      host, kFloats, [](Tensor a, Tensor b) { return a / b; }, F(std::divides<>()));
  check_pairs<float>(host, kFloats, kMinimum, F(&least));
  check_pairs<float>(host, kFloats, kMaximum, F(&largest));
  check_pairs<float, bool>(
      host, kFloats, [](Tensor a, Tensor b) { return greater(std::move(a), std::move(b)); },
      std::greater<>());
  check_pairs<float, bool>(
      host, kFloats, [](Tensor a, Tensor b) { return equal(std::move(a), std::move(b)); },
      std::equal_to<>());
}

TEST_CASE("i32 arithmetic wraps and never traps") {
  const Host host;
  using F = std::function<Int(Int, Int)>;
  const auto wide = [](auto op) {
    return F([op](Int a, Int b) { return wrap(op(std::int64_t{a}, std::int64_t{b})); });
  };
  check_pairs<Int>(
      host, kInts, [](Tensor a, Tensor b) { return a + b; }, wide(std::plus<>()));
  check_pairs<Int>(
      host, kInts, [](Tensor a, Tensor b) { return a - b; }, wide(std::minus<>()));
  check_pairs<Int>(
      host, kInts, [](Tensor a, Tensor b) { return a * b; }, wide(std::multiplies<>()));
  check_pairs<Int>(host, kInts, kMinimum, F([](Int a, Int b) { return std::min(a, b); }));
  check_pairs<Int>(host, kInts, kMaximum, F([](Int a, Int b) { return std::max(a, b); }));
  check_pairs<Int, bool>(
      host, kInts, [](Tensor a, Tensor b) { return greater(std::move(a), std::move(b)); },
      std::greater<>());
  check_pairs<Int, bool>(
      host, kInts, [](Tensor a, Tensor b) { return equal(std::move(a), std::move(b)); },
      std::equal_to<>());
}

TEST_CASE("operations of one operand") {
  const Host host;
  check_each<float>(
      host, kFloats, [](Tensor a) { return -a; }, [](float a) { return -a; });
  check_each<float>(
      host, kFloats, [](Tensor a) { return sqrt(std::move(a)); },
      [](float a) { return std::sqrt(a); });
  check_each<float>(host, kFloats, &relu,
                    [](float a) { return std::isnan(a) ? a : (a > 0 ? a : 0.0F); });
  check_each<Int>(
      host, kInts, [](Tensor a) { return -a; }, [](Int a) { return wrap(-std::int64_t{a}); });
  check_each<Int>(host, kInts, &relu, [](Int a) { return std::max(a, 0); });
  check_each<Int, float>(
      host, kInts, [](const Tensor& a) { return a.to(DType::f32); },
      [](Int a) { return static_cast<float>(a); });
  check_each<float, Int>(
      host, kFloats, [](const Tensor& a) { return a.to(DType::i32); },
      [](float a) -> Int {
        if (std::isnan(a)) return 0;
        if (a >= 2147483648.0F) return kMax;
        if (a < -2147483648.0F) return kMin;
        return static_cast<Int>(a);
      });
}

TEST_CASE("exp and log are within one unit in the last place") {
  const Host host;
  std::vector<float> points;
  for (int i = -10'400; i <= 8'900; i += 7) points.push_back(static_cast<float>(i) * 0.01F);
  const auto exps = exp(host.f32(points)).to_host<float>();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double exact = std::exp(static_cast<double>(points[i]));
    const auto rounded = static_cast<float>(exact);
    const double unit = static_cast<double>(std::nextafter(rounded, kInf)) - rounded;
    INFO(points[i]);
    if (std::isinf(rounded)) {
      REQUIRE(exps[i] == rounded);
    } else {
      REQUIRE(std::abs(exps[i] - exact) <= 1.5 * unit);
    }
  }
  points.clear();
  for (float x = 1e-44F; x < 1e38F; x *= 1.37F) points.push_back(x);
  const auto logs = log(host.f32(points)).to_host<float>();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double exact = std::log(static_cast<double>(points[i]));
    const double unit = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
    INFO(points[i]);
    REQUIRE(std::abs(logs[i] - exact) <= 1.5 * unit);
  }
  CHECK(same(exp(host.f32({kInf, -kInf, kNan, 0.0F, -0.0F, 89.0F, -104.5F})).to_host<float>(),
             std::vector<float>{kInf, 0.0F, kNan, 1.0F, 1.0F, kInf, 0.0F}));
  CHECK(same(log(host.f32({kInf, -1.0F, kNan, 0.0F, -0.0F, 1.0F})).to_host<float>(),
             std::vector<float>{kInf, kNan, kNan, -kInf, -kInf, 0.0F}));
}

TEST_CASE("denormals are kept") {
  const Host host;
  const Tensor tiny = host.f32({1e-45F, 1e-40F});
  CHECK((tiny + 0.0F).to_host<float>() == std::vector<float>{1e-45F, 1e-40F});
  CHECK((tiny * 2.0F).to_host<float>()[0] > 0);
  CHECK(equal(tiny, zeros({2}, host.device)).to_host<bool>() == std::vector<bool>{false, false});
}

TEST_CASE("types are promoted") {
  const Host host;
  const Tensor i = host.i32({1, 2, 3});
  const Tensor f = host.f32({0.5F, 0.5F, 0.5F});
  CHECK((i + f).dtype() == DType::f32);
  CHECK((i + f).to_host<float>() == std::vector<float>{1.5F, 2.5F, 3.5F});
  CHECK((f - i).to_host<float>() == std::vector<float>{-0.5F, -1.5F, -2.5F});
  CHECK((i + i).dtype() == DType::i32);
  CHECK((i / i).dtype() == DType::f32);
  CHECK((i / host.i32({2, 0, -2})).to_host<float>() == std::vector<float>{0.5F, kInf, -1.5F});
  CHECK((host.i32({kMin}) / host.i32({-1})).item() == 2147483648.0F);
  CHECK(minimum(i, f).dtype() == DType::f32);
  CHECK(greater(i, f).dtype() == DType::boolean);
  CHECK(equal(i, i).dtype() == DType::boolean);
  CHECK(i.to(DType::i32).dtype() == DType::i32);
}

TEST_CASE("scalars take the tensor's type") {
  const Host host;
  const Tensor i = host.i32({1, 2});
  const Tensor f = host.f32({1, 2});
  CHECK((i + 1).to_host<Int>() == std::vector<Int>{2, 3});
  CHECK((1 - i).to_host<Int>() == std::vector<Int>{0, -1});
  CHECK((i * 3L).to_host<Int>() == std::vector<Int>{3, 6});
  CHECK((i + 0.5).to_host<float>() == std::vector<float>{1.5F, 2.5F});
  CHECK((i / 2).to_host<float>() == std::vector<float>{0.5F, 1.0F});
  CHECK((f + 1).to_host<float>() == std::vector<float>{2, 3});
  CHECK((2.0F / f).to_host<float>() == std::vector<float>{2, 1});
  CHECK((f - 1.0).to_host<float>() == std::vector<float>{0, 1});
  CHECK((2 * f).to_host<float>() == std::vector<float>{2, 4});
  CHECK((i + (std::int64_t{1} << 40)).to_host<Int>() == std::vector<Int>{1, 2});  // wraps
  CHECK(Scalar(true).type() == DType::boolean);
  CHECK(Scalar(1.0F).type() == DType::f64);
  CHECK(Scalar(kMin).bits() == 0xffffffff80000000U);
}

TEST_CASE("where chooses by a condition of any type") {
  const Host host;
  const Tensor a = host.f32({1, 2, 3, 4});
  const Tensor b = host.f32({5, 6, 7, 8});
  CHECK(where(host.i32({1, 0, -1, 0}), a, b).to_host<float>() == std::vector<float>{1, 6, 3, 8});
  CHECK(where(host.f32({kNan, -0.0F, 0.1F, 0.0F}), a, b).to_host<float>() ==
        std::vector<float>{1, 6, 3, 8});
  const Tensor i = host.i32({kMin, kMax, 3, 4});
  CHECK(where(a, i, -i).to_host<Int>() == std::vector<Int>{kMin, kMax, 3, 4});
  CHECK(where(host.i32({0, 1, 0, 1}), i, i * 2).dtype() == DType::i32);
  CHECK(where(host.i32({0, 1, 0, 1}), i, b).to_host<float>() ==
        std::vector<float>{5, 2147483648.0F, 7, 4});
  CHECK(where(host.i32({1, 0}).reshape({2, 1}), a, b).shape() == Dims{2, 4});
}

TEST_CASE("shapes broadcast, empty ones too") {
  const Host host;
  const Tensor m = counting(host, {2, 3});
  CHECK((m + host.f32({10, 20, 30})).to_host<float>() ==
        std::vector<float>{10, 21, 32, 13, 24, 35});
  CHECK((host.f32({10, 20}, {2, 1}) + m).to_host<float>() ==
        std::vector<float>{10, 11, 12, 23, 24, 25});
  CHECK((host.f32({1, 2, 3}, {3, 1}) * host.f32({1, 10})).shape() == Dims{3, 2});
  CHECK((m + (host.f32({1, 2, 3}) * 2.0)).to_host<float>() ==
        std::vector<float>{2, 5, 8, 5, 8, 11});
  CHECK((host.f32({1}, Dims()) + host.f32({2}, Dims())).shape() == Dims());
  CHECK((zeros({0, 3}, host.device) + host.f32({1, 2, 3})).shape() == Dims{0, 3});
  CHECK((zeros({0}, host.device) + 1.0).to_host<float>().empty());
  const std::string message = message_of<ShapeError>([&] { (void)(m + host.f32({1, 2})); });
  CHECK(contains(message, "[2, 3]"));
  CHECK(contains(message, "[2]"));
}

TEST_CASE("real operations of integers are those of f32") {
  const Host host;
  const Tensor i = host.i32({1, 4});
  CHECK(sqrt(i).to_host<float>() == std::vector<float>{1, 2});
  CHECK(log(i).dtype() == DType::f32);
}

TEST_CASE("a temporary is consumed, a named tensor is kept") {
  const Host host;
  Tensor t = host.f32({1, 2});
  const void* const address = t.data();
  const Tensor kept = t + 1.0;
  CHECK(kept.to_host<float>() == std::vector<float>{2, 3});
  CHECK(t.data() == address);
  const auto live = host.device.pool().stats().allocations.live;
  t = std::move(t) + 1.0;
  t.eval();  // the old storage went when nobody needed it any more
  CHECK(host.device.pool().stats().allocations.live == live);
}

TEST_CASE("a hundred and fifty operations with shared broadcasts") {
  const Host host;
  const Tensor row = host.f32({1, 2, 3});
  Tensor t = zeros({4, 3}, host.device).eval();
  Tensor shared = row * 1.0;
  for (int i = 0; i < 75; ++i) t = (std::move(t) + row) + shared;
  CHECK(t.to_host<float>() ==
        std::vector<float>{150, 300, 450, 150, 300, 450, 150, 300, 450, 150, 300, 450});
}

TEST_CASE("a constant that was evaluated after its use is still the same for every element") {
  const Host host;
  const Tensor x = host.f32(std::vector<float>(1000, 1.0F), {10, 100});
  const std::vector<float> four(1000, 4.0F);
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{100}, Dims{1, 100}, Dims{10, 1}, Dims{10, 100}}) {
    INFO("constant of " << to_string(shape));
    const Tensor c = full(shape, 3.0F, host.device);
    const Tensor sum = x + c;
    const Tensor again = x + c;
    const Tensor chosen = where(greater(x, 2.0F), x, c);
    c.eval();
    CHECK(sum.to_host<float>() == four);
    CHECK(again.sum().item() == 4000.0F);
    CHECK(chosen.to_host<float>() == std::vector<float>(1000, 3.0F));
  }
}
