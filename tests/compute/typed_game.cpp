#include "tests/compute/typed_game.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "forebay/compute/math.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/all_types.hpp"

namespace forebay::testing {
namespace {

// To `bits` significant bits, none below 2^least, and infinite from 2^most on.
double rounded_to(double value, int bits, int least, int most) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::ilogb(value);
  const double unit = std::ldexp(1.0, std::max(exponent - bits + 1, least));
  const double near = std::nearbyint(value / unit) * unit;
  return std::abs(near) >= std::ldexp(1.0, most) ? std::copysign(HUGE_VAL, value) : near;
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

std::int64_t wrapped(double value, int bits) {
  // Whole numbers here are below 2^62.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(whole(value)) << (64 - bits)) >>
         (64 - bits);
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

// NaN wins, and -0 is below +0.
double least(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return NAN;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}
double largest(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return NAN;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

// Python's division of whole numbers, but by 0 it gives 0.
double floor_quotient(double x, double y) { return y == 0 ? 0 : std::floor(x / y); }
double floor_remainder(double x, double y) { return y == 0 ? 0 : x - y * std::floor(x / y); }

enum class For : std::uint8_t { all, numbers, integers, no_reals, reals };

bool allowed(For what, DType type) {
  const Category category = category_of(type);
  switch (what) {
    case For::numbers:
      return category != Category::boolean;
    case For::integers:
      return category == Category::integer;
    case For::no_reals:
      return category != Category::real;
    default:
      return true;
  }
}

struct Unary {
  Tensor (*tensor)(Tensor);
  double (*number)(double);
  For operands;
  bool truth = false;  // the result is boolean
};

const Unary kUnary[] = {
    {&forebay::operator-, [](double x) { return -x; }, For::numbers},
    {&abs, [](double x) { return std::abs(x); }, For::numbers},
    {&sign, [](double x) { return x > 0   ? 1.0
                                  : x < 0 ? -1.0
                                          : x; }, For::numbers},
    {&relu, [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; }, For::numbers},
    {&floor, [](double x) { return std::floor(x); }, For::numbers},
    {&ceil, [](double x) { return std::ceil(x); }, For::numbers},
    {&round, [](double x) { return std::nearbyint(x); }, For::numbers},
    {&trunc, [](double x) { return std::trunc(x); }, For::numbers},
    {&sqrt, [](double x) { return std::sqrt(x); }, For::reals},
    {&isnan, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, For::all, true},
    {&isinf, [](double x) { return std::isinf(x) ? 1.0 : 0.0; }, For::all, true},
    {&logical_not, [](double x) { return x != 0 ? 0.0 : 1.0; }, For::all, true},
    {&forebay::operator~, [](double x) { return static_cast<double>(~whole(x)); }, For::integers},
};

struct Binary {
  Tensor (*tensor)(Tensor, Tensor);
  double (*number)(double, double);
  For operands;
  bool truth = false;
  bool as_boolean = false;  // the operands are cast to booleans first
};

const Binary kBinary[] = {
    {&forebay::operator+, [](double x, double y) { return x + y; }, For::all},
    {&forebay::operator*, [](double x, double y) { return x * y; }, For::all},
    {&forebay::operator-, [](double x, double y) { return x - y; }, For::numbers},
    {&forebay::operator/, [](double x, double y) { return x / y; }, For::reals},
    {&minimum, &least, For::all},
    {&maximum, &largest, For::all},
    {&floor_divide, &floor_quotient, For::integers},
    {&remainder, &floor_remainder, For::integers},
    {&forebay::operator&,
     [](double x, double y) { return static_cast<double>(whole(x) & whole(y)); }, For::no_reals},
    {&forebay::operator|,
     [](double x, double y) { return static_cast<double>(whole(x) | whole(y)); }, For::no_reals},
    {&forebay::operator^,
     [](double x, double y) { return static_cast<double>(whole(x) ^ whole(y)); }, For::no_reals},
    {&less, [](double x, double y) { return x < y ? 1.0 : 0.0; }, For::all, true},
    {&less_equal, [](double x, double y) { return x <= y ? 1.0 : 0.0; }, For::all, true},
    {&greater, [](double x, double y) { return x > y ? 1.0 : 0.0; }, For::all, true},
    {&greater_equal, [](double x, double y) { return x >= y ? 1.0 : 0.0; }, For::all, true},
    {&equal, [](double x, double y) { return x == y ? 1.0 : 0.0; }, For::all, true},
    {&not_equal, [](double x, double y) { return x != y ? 1.0 : 0.0; }, For::all, true},
    {&logical_and, [](double x, double y) { return x * y; }, For::all, true, true},
    {&logical_or, [](double x, double y) { return x + y; }, For::all, true, true},
    {&logical_xor, [](double x, double y) { return x != y ? 1.0 : 0.0; }, For::all, true, true},
};

DType at_least_real(DType type) { return category_of(type) == Category::real ? type : DType::f32; }

}  // namespace

template <typename Number>
TypedGame::Value TypedGame::made(Tensor tensor, DType type, std::int64_t rows, std::int64_t columns,
                                 Number number) {
  Value value{std::move(tensor), type, rows, columns, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      value.numbers.push_back(number(row, column));
    }
  }
  return value;
}

TypedGame::Value TypedGame::fresh() {
  const DType type = kAllTypes[below(8)];
  const std::int64_t rows = below(4) == 0 ? 1 : kSide;
  const std::int64_t columns = below(4) == 0 ? 1 : kSide;
  Value value = made({}, type, rows, columns, [&](auto, auto) {
    const double raw = (static_cast<double>(below(2001)) - 1000) / 32;
    return cast(raw, DType::f64, type);
  });
  value.tensor = from_host<double>(value.numbers, {rows, columns}, device_, type);
  return value;
}

// Whole numbers that stay small enough to be exact in f64. Some operands nobody else holds any
// more, so that their memory may be taken for the result.
TypedGame::Value TypedGame::operand() {
  for (;;) {
    const std::size_t place = below(values_.size());
    Value& value = values_[place];
    const bool large = std::any_of(value.numbers.begin(), value.numbers.end(),
                                   [](double v) { return std::abs(v) > 1e7; });
    if (large && category_of(value.type) != Category::real) continue;
    if (values_.size() < 6 || below(4) != 0) return value;
    Value taken = std::move(value);
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(place));
    return taken;
  }
}

TypedGame::Value TypedGame::unary() {
  Value a = operand();
  const Unary& op = kUnary[below(std::size(kUnary))];
  if (!allowed(op.operands, a.type)) return fresh();
  const DType in = op.operands == For::reals ? at_least_real(a.type) : a.type;
  const DType result = op.truth ? DType::boolean : in;
  return made(op.tensor(std::move(a.tensor)), result, a.rows, a.columns,
              [&](auto row, auto column) {
                return in_type(op.number(cast(a.at(row, column), a.type, in)), result);
              });
}

TypedGame::Value TypedGame::binary() {
  Value a = operand();
  Value b = operand();
  const Binary& op = kBinary[below(std::size(kBinary))];
  DType in = promote(a.type, b.type);
  if (!allowed(op.operands, in)) return fresh();
  if (op.operands == For::reals) in = at_least_real(in);
  if (op.as_boolean) in = DType::boolean;
  const DType result = op.truth ? DType::boolean : in;
  return made(op.tensor(std::move(a.tensor), std::move(b.tensor)), result, std::max(a.rows, b.rows),
              std::max(a.columns, b.columns), [&](auto row, auto column) {
                return in_type(op.number(cast(a.at(row, column), a.type, in),
                                         cast(b.at(row, column), b.type, in)),
                               result);
              });
}

// A whole number is an i64 and a real one an f32 beside a tensor of a lower category.
TypedGame::Value TypedGame::with_number() {
  Value a = operand();
  const bool real = below(2) == 0;
  const double number =
      real ? 0.375 * static_cast<double>(below(64)) - 8 : static_cast<double>(below(20)) - 6;
  const Scalar scalar = real ? Scalar(number) : Scalar(static_cast<std::int64_t>(number));
  const DType lifted = real ? DType::f32 : DType::i64;
  const DType in = category_of(lifted) > category_of(a.type) ? lifted : a.type;
  const double in_it = cast(number, real ? DType::f64 : DType::i64, in);
  const bool product = below(2) == 0;
  Tensor tensor = product ? std::move(a.tensor) * scalar : std::move(a.tensor) + scalar;
  return made(std::move(tensor), in, a.rows, a.columns, [&](auto row, auto column) {
    const double x = cast(a.at(row, column), a.type, in);
    return in_type(product ? x * in_it : x + in_it, in);
  });
}

TypedGame::Value TypedGame::choice() {
  Value a = operand();
  Value b = operand();
  Value c = operand();
  const std::int64_t rows = std::max({a.rows, b.rows, c.rows});
  const std::int64_t columns = std::max({a.columns, b.columns, c.columns});
  if (below(2) == 0) {
    const DType type = promote(b.type, c.type);
    return made(where(std::move(a.tensor), std::move(b.tensor), std::move(c.tensor)), type, rows,
                columns, [&](auto row, auto column) {
                  const Value& chosen = a.at(row, column) != 0 ? b : c;
                  return cast(chosen.at(row, column), chosen.type, type);
                });
  }
  const DType type = promote(promote(a.type, b.type), c.type);
  if (type == DType::boolean) return fresh();
  return made(clamp(std::move(a.tensor), std::move(b.tensor), std::move(c.tensor)), type, rows,
              columns, [&](auto row, auto column) {
                const double raised = largest(cast(a.at(row, column), a.type, type),
                                              cast(b.at(row, column), b.type, type));
                return least(raised, cast(c.at(row, column), c.type, type));
              });
}

TypedGame::Value TypedGame::cast_of() {
  const Value a = operand();
  const DType to = kAllTypes[below(8)];
  return made(a.tensor.to(to), to, a.rows, a.columns,
              [&](auto row, auto column) { return cast(a.at(row, column), a.type, to); });
}

TypedGame::Value TypedGame::view() {
  const Value a = operand();
  switch (below(4)) {
    case 0:
      return made(a.tensor.transpose(), a.type, a.columns, a.rows,
                  [&](auto row, auto column) { return a.at(column, row); });
    case 1:
      return made(flip(a.tensor, 0), a.type, a.rows, a.columns,
                  [&](auto row, auto column) { return a.at(a.rows - 1 - row, column); });
    case 2:
      return made(flip(a.tensor, 1), a.type, a.rows, a.columns,
                  [&](auto row, auto column) { return a.at(row, a.columns - 1 - column); });
    default:
      return made(a.tensor.broadcast_to({kSide, kSide}), a.type, kSide, kSide,
                  [&](auto row, auto column) { return a.at(row, column); });
  }
}

// Two values side by side, and every other row or column of that; or the parts of one exchanged.
TypedGame::Value TypedGame::pieces() {
  const Value a = operand();
  const int axis = static_cast<int>(below(2));
  const std::int64_t extent = axis == 0 ? a.rows : a.columns;
  if (below(2) == 0) {
    const Value b = operand();
    const bool fits = a.rows == b.rows && a.columns == b.columns;
    const Value& other = fits ? b : a;
    const DType type = promote(a.type, other.type);
    const Tensor both[] = {a.tensor, other.tensor};
    const bool backwards = below(2) == 0;
    const Tensor half = backwards ? slice(cat(both, axis), axis, -1, kSliceEnd, -2)
                                  : slice(cat(both, axis), axis, 0, 2 * extent, 2);
    return made(half, type, a.rows, a.columns, [&](auto row, auto column) {
      const std::int64_t along = axis == 0 ? row : column;
      const std::int64_t from = backwards ? 2 * extent - 1 - 2 * along : 2 * along;
      const Value& part = from < extent ? a : other;
      const std::int64_t place = from % extent;
      return cast(axis == 0 ? part.at(place, column) : part.at(row, place), part.type, type);
    });
  }
  const auto cut = static_cast<std::int64_t>(below(static_cast<std::size_t>(extent)));
  const Tensor parts[] = {narrow(a.tensor, axis, cut, extent - cut),
                          narrow(a.tensor, axis, 0, cut)};
  return made(cat(parts, axis), a.type, a.rows, a.columns, [&](auto row, auto column) {
    const std::int64_t place = ((axis == 0 ? row : column) + cut) % extent;
    return axis == 0 ? a.at(place, column) : a.at(row, place);
  });
}

// Least and largest of any type, sums where they are exact.
TypedGame::Value TypedGame::reduction() {
  const Value a = operand();
  const int axis = static_cast<int>(below(2));
  const std::array<int, 1> axes{axis};
  const std::int64_t rows = axis == 0 ? 1 : a.rows;
  const std::int64_t columns = axis == 1 ? 1 : a.columns;
  const auto over = [&](auto combine) {
    return [&a, axis, combine](auto row, auto column) {
      double total = axis == 0 ? a.at(0, column) : a.at(row, 0);
      for (std::int64_t i = 1; i < (axis == 0 ? a.rows : a.columns); ++i) {
        total = combine(total, axis == 0 ? a.at(i, column) : a.at(row, i));
      }
      return total;
    };
  };
  const auto sum = [](double x, double y) { return x + y; };
  switch (below(3)) {
    case 0:
      return made(a.tensor.min(axes, true), a.type, rows, columns, over(&least));
    case 1:
      return made(a.tensor.max(axes, true), a.type, rows, columns, over(&largest));
    default:
      if (category_of(a.type) == Category::real) return fresh();
      return made(a.tensor.sum(axes, true), DType::i64, rows, columns, over(sum));
  }
}

TypedGame::Value TypedGame::step() {
  switch (below(12)) {
    case 0:
      return cast_of();
    case 1:
      return with_number();
    case 2:
      return choice();
    case 3:
      return view();
    case 4:
      return pieces();
    case 5:
      return reduction();
    case 6:
    case 7:
    case 8:
      return unary();
    default:
      return binary();
  }
}

std::string TypedGame::play(int steps) {
  for (int i = 0; i < 4; ++i) values_.push_back(fresh());
  for (int i = 0; i < steps; ++i) {
    values_.push_back(step());
    if (below(8) == 0) values_[below(values_.size())].tensor.eval();
  }
  for (const Value& value : values_) {
    const std::string what =
        std::string(to_string(value.type)) + " of " + to_string(Dims{value.rows, value.columns});
    if (value.tensor.dtype() != value.type ||
        value.tensor.shape() != Dims{value.rows, value.columns})
      return "a tensor of " + std::string(to_string(value.tensor.dtype())) + " " +
             to_string(value.tensor.shape()) + ", not " + what;
    const auto got = value.tensor.to(DType::f64).to_host<double>();
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double wanted = value.numbers[k];
      if (std::isnan(got[k]) && std::isnan(wanted)) continue;
      if (got[k] == wanted && std::signbit(got[k]) == std::signbit(wanted)) continue;
      return what + ", element " + std::to_string(k) + ": " + std::to_string(got[k]) + ", not " +
             std::to_string(value.numbers[k]);
    }
  }
  return {};
}

}  // namespace forebay::testing
