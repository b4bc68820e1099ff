#include "tests/compute/reference.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "forebay/pool/error.hpp"

namespace {
#include "compute/prelude.inl"
}  // namespace

namespace forebay::test {

using compute::Identity;
using compute::Op;

namespace {

template <typename T>
T as(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 255U) != 0;  // any other byte is no bool
  } else {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
}

/// Calls `function` with a value-initialised element of the prelude's type.
template <typename Function>
std::uint64_t with(DType type, Function&& function) {
  switch (type) {
    case DType::f64:
      return function(double{});
    case DType::f32:
      return function(float{});
    case DType::f16:
      return function(FbHalf{});
    case DType::bf16:
      return function(FbBfloat{});
    case DType::i64:
      return function((long long){});
    case DType::i32:
      return function(int{});
    case DType::u8:
      return function((unsigned char){});
    case DType::boolean:
      return function(bool{});
  }
  return 0;
}

[[noreturn]] void throw_missing(Op op, DType type) {
  throw Error(std::string("the prelude has no ") + to_string(op) + " for " +
              std::string(to_string(type)));
}

}  // namespace

#define FOREBAY_CALL(op, ...)                                                                 \
  case Op::op:                                                                                \
    return with(type, [&]<typename T>(T) -> std::uint64_t {                                   \
      [[maybe_unused]] const T x = as<T>(a);                                                  \
      [[maybe_unused]] const T y = as<T>(b);                                                  \
      [[maybe_unused]] const T z = as<T>(c);                                                  \
      if constexpr (requires { fb_##op(__VA_ARGS__); }) return bits_of(fb_##op(__VA_ARGS__)); \
      throw_missing(Op::op, type);                                                            \
    });
#define FOREBAY_CALL_1(op) FOREBAY_CALL(op, x)
#define FOREBAY_CALL_2(op) FOREBAY_CALL(op, x, y)
#define FOREBAY_CALL_3(op) FOREBAY_CALL(op, x, y, z)
#define FOREBAY_CALL_number_1(op) FOREBAY_CALL_1(op)
#define FOREBAY_CALL_number_2(op) FOREBAY_CALL_2(op)
#define FOREBAY_CALL_number_3(op) FOREBAY_CALL_3(op)
#define FOREBAY_CALL_any_2(op) FOREBAY_CALL_2(op)
#define FOREBAY_CALL_real_1(op) FOREBAY_CALL_1(op)
#define FOREBAY_CALL_real_2(op) FOREBAY_CALL_2(op)
#define FOREBAY_CALL_test(op) FOREBAY_CALL_1(op)
#define FOREBAY_CALL_cast(op) FOREBAY_CALL_1(op)
#define FOREBAY_CALL_compare(op) FOREBAY_CALL_2(op)
#define FOREBAY_CALL_bits_1(op) FOREBAY_CALL_1(op)
#define FOREBAY_CALL_bits_2(op) FOREBAY_CALL_2(op)
#define FOREBAY_CALL_choose(op) \
  case Op::op:                  \
    break;
#define FOREBAY_CALL_draw_32(op) \
  case Op::op:                   \
    return bits_of(fb_##op(as<int>(a), as<int>(b), (unsigned long long)index));
#define FOREBAY_CALL_draw_64(op) FOREBAY_CALL_draw_32(op)

std::uint64_t evaluate(Op op, DType type, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                       std::uint64_t index) {
  switch (op) {
#define FOREBAY_OP(name, operands, kind) FOREBAY_CALL_##kind(name)
    FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
  }
  throw_missing(op, type);
}

std::uint64_t evaluate(const compute::Program& program, const compute::Instruction& instruction,
                       std::span<const std::uint64_t> values, std::uint64_t index) {
  const std::uint64_t a = values[instruction.a];
  const std::uint64_t b = values[instruction.b];
  const std::uint64_t c = values[instruction.c];
  if (instruction.op == Op::select) return a != 0 ? b : c;
  return evaluate(instruction.op, program.type_of(instruction.a), a, b, c, index);
}

std::uint64_t cast_bits(std::uint64_t bits, DType from, DType to) {
  return evaluate(compute::cast_to(to), from, bits);
}

std::uint64_t identity_bits(Identity identity, DType type) {
  const bool real = category_of(type) == Category::real;
  const double infinite = std::numeric_limits<double>::infinity();
  switch (identity) {
    case Identity::zero:
      return cast_bits(bits_of(0.0), DType::f64, type);
    case Identity::one:
      return cast_bits(bits_of(1.0), DType::f64, type);
    // A cast of an infinity saturates.
    case Identity::highest:
      return type == DType::boolean ? 1 : cast_bits(bits_of(infinite), DType::f64, type);
    case Identity::lowest:
      return real || type != DType::boolean ? cast_bits(bits_of(-infinite), DType::f64, type) : 0;
  }
  return 0;
}

double real_of(std::uint64_t bits, DType type) {
  return as<double>(cast_bits(bits, type, DType::f64));
}

bool same_bits(DType type, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  return category_of(type) == Category::real && std::isnan(real_of(a, type)) &&
         std::isnan(real_of(b, type));
}

bool equal_bits(DType type, std::uint64_t a, std::uint64_t b) {
  return evaluate(Op::equal, type, a, b) != 0;
}

std::string show(DType type, std::uint64_t bits) {
  std::ostringstream text;
  text.precision(17);
  if (type == DType::i64) {
    text << as<long long>(bits);
  } else {
    text << real_of(bits, type);
  }
  return text.str();
}

double unit_of(DType type) {
  switch (type) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0;
  }
}

double tiny_of(DType type) {
  switch (type) {
    case DType::f64:
      return 0x1p-1074;
    case DType::f32:
      return 0x1p-149;
    case DType::f16:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-133;
    default:
      return 0;
  }
}

}  // namespace forebay::test
