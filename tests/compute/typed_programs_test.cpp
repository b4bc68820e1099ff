// Random expressions over all types against a reference in f64 that rounds to the type after each
// operation, by the standard library alone.
#include <random>

#include "forebay/compute/math.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

// To `bits` significant bits, none below 2^least, and infinite from 2^most on.
double rounded_to(double value, int bits, int least, int most) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::ilogb(value);
  const double unit = std::ldexp(1.0, std::max(exponent - bits + 1, least));
  const double near = std::nearbyint(value / unit) * unit;
  return std::abs(near) >= std::ldexp(1.0, most) ? std::copysign(HUGE_VAL, value) : near;
}

std::int64_t wrapped(double value, int bits) {
  // Whole numbers here are below 2^62.
  const auto whole = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return static_cast<std::int64_t>(whole << (64 - bits)) >> (64 - bits);
}

// An integer's or boolean's value in `type`, or a real's.
double in_type(double value, DType type) {
  switch (type) {
    case DType::f64:
      return value;
    case DType::f32:
      return static_cast<double>(static_cast<float>(value));
    case DType::f16:
      return rounded_to(value, 11, -24, 16);
    case DType::bf16:
      return rounded_to(value, 8, -133, 128);
    case DType::i64:
      return static_cast<double>(wrapped(value, 64));
    case DType::i32:
      return static_cast<double>(wrapped(value, 32));
    case DType::u8:
      return static_cast<double>(wrapped(value, 8) & 255);
    case DType::boolean:
      return value != 0 ? 1 : 0;
  }
  return value;
}

// A cast: reals saturate where integers wrap.
double cast(double value, DType from, DType to) {
  if (category_of(from) != Category::real || category_of(to) != Category::integer) {
    return in_type(value, to);
  }
  if (std::isnan(value)) return 0;
  const double low = to == DType::u8 ? 0 : to == DType::i32 ? -0x1p31 : -0x1p63;
  const double high = to == DType::u8 ? 255 : to == DType::i32 ? 0x1p31 - 1 : 0x1p63;
  return std::clamp(std::trunc(value), low, high) + 0.0;  // integers have one zero
}

struct Value {
  Tensor tensor;
  DType type;
  std::vector<double> numbers;
};

class TypedGame {
 public:
  TypedGame(const Host& host, unsigned seed) : host_(host), random_(seed) {}

  void play() {
    for (int i = 0; i < 4; ++i) values_.push_back(fresh());
    for (int i = 0; i < 40; ++i) values_.push_back(step());
    for (const Value& value : values_) {
      REQUIRE(value.tensor.dtype() == value.type);
      const auto got = value.tensor.to(DType::f64).to_host<double>();
      for (std::size_t k = 0; k < got.size(); ++k) {
        INFO(to_string(value.type)
             << " element " << k << ": " << got[k] << ", not " << value.numbers[k]);
        REQUIRE(
            (got[k] == value.numbers[k] || (std::isnan(got[k]) && std::isnan(value.numbers[k]))));
      }
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  Value fresh() {
    const DType type = kAllTypes[below(8)];
    std::vector<double> numbers;
    for (int i = 0; i < kCount; ++i) {
      const double raw = (static_cast<double>(below(2001)) - 1000) / 32;
      numbers.push_back(cast(raw, DType::f64, type));
    }
    return {from_host<double>(numbers, {kCount}, host_.device, type), type, numbers};
  }

  template <typename Function>
  static Value combined(Tensor tensor, DType result, DType in, const Value& a, const Value& b,
                        Function function) {
    Value value{std::move(tensor), result, {}};
    for (std::size_t i = 0; i < kCount; ++i) {
      value.numbers.push_back(in_type(
          function(cast(a.numbers[i], a.type, in), cast(b.numbers[i], b.type, in)), result));
    }
    return value;
  }

  // Operands that stay small enough for whole numbers to be exact in f64.
  const Value& any() {
    for (;;) {
      const Value& value = values_[below(values_.size())];
      const bool large = std::any_of(value.numbers.begin(), value.numbers.end(),
                                     [](double v) { return std::abs(v) > 1e7; });
      if (!large || category_of(value.type) == Category::real) return value;
    }
  }

  Value step() {
    const Value a = any();
    const Value b = any();
    const DType in = promote(a.type, b.type);
    const bool truth = in == DType::boolean;
    switch (below(8)) {
      case 0:
        return combined(a.tensor + b.tensor, in, in, a, b, std::plus<>());
      case 1:
        return combined(a.tensor * b.tensor, in, in, a, b, std::multiplies<>());
      case 2:
        if (truth) break;
        return combined(a.tensor - b.tensor, in, in, a, b, std::minus<>());
      case 3:
        return combined(less(a.tensor, b.tensor), DType::boolean, in, a, b, std::less<>());
      case 4:
        return combined(where(greater(a.tensor, b.tensor), a.tensor, b.tensor), in, in, a, b,
                        [](double x, double y) { return x > y ? x : y; });
      case 5: {
        const DType to = kAllTypes[below(8)];
        Value value{a.tensor.to(to), to, {}};
        for (const double x : a.numbers) value.numbers.push_back(cast(x, a.type, to));
        return value;
      }
      case 6: {
        const DType real = category_of(in) == Category::real ? in : DType::f32;
        return combined(a.tensor / b.tensor, real, real, a, b, std::divides<>());
      }
      default:
        if (truth) break;
        return combined(maximum(a.tensor, b.tensor), in, in, a, b, [](double x, double y) {
          return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
        });
    }
    return fresh();
  }

  static constexpr int kCount = 37;
  const Host& host_;
  std::mt19937 random_;
  std::vector<Value> values_;
};

}  // namespace

TEST_CASE("random expressions over all types agree with a reference in f64") {
  const Host host;
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    TypedGame(host, seed).play();
  }
}
