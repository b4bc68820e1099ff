#include "forebay/compute/op.hpp"

#include <cstddef>

namespace forebay::compute {
namespace {

struct OpRow {
  const char* name;
  int operands;
  OpKind kind;
};
constexpr OpRow kOps[] = {
#define FOREBAY_OP(name, operands, kind) {#name, operands, OpKind::kind},
    FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
};
const OpRow& row(Op op) { return kOps[static_cast<std::size_t>(op)]; }

struct ReduceRow {
  const char* name;
  Op join;
  Identity identity;
};
constexpr ReduceRow kReductions[] = {
#define FOREBAY_REDUCE_OP(name, join, identity) {#name, Op::join, Identity::identity},
    FOREBAY_REDUCE_OPS(FOREBAY_REDUCE_OP)
#undef FOREBAY_REDUCE_OP
};
const ReduceRow& row(ReduceOp op) { return kReductions[static_cast<std::size_t>(op)]; }

bool is_narrow(DType type) { return type == DType::f16 || type == DType::bf16; }

}  // namespace

const char* to_string(Op op) noexcept { return row(op).name; }
int operands(Op op) noexcept { return row(op).operands; }
OpKind kind_of(Op op) noexcept { return row(op).kind; }

bool has_type(Op op, DType type) noexcept {
  const Category category = category_of(type);
  switch (kind_of(op)) {
    case OpKind::number_1:
    case OpKind::number_2:
    case OpKind::number_3:
      return category != Category::boolean;
    case OpKind::any_2:
    case OpKind::cast:
    case OpKind::compare:
    case OpKind::choose:
      return true;
    case OpKind::real_1:
    case OpKind::real_2:
    case OpKind::test:
      return category == Category::real;
    case OpKind::bits_1:
    case OpKind::bits_2:
      return category != Category::real;
    case OpKind::draw_32:
    case OpKind::draw_64:
      return type == DType::i32;
  }
  return false;
}

DType result_type(Op op, DType type) noexcept {
  switch (kind_of(op)) {
    case OpKind::test:
    case OpKind::compare:
      return DType::boolean;
    case OpKind::cast:
      return static_cast<DType>(static_cast<int>(op) - static_cast<int>(Op::to_f64));
    case OpKind::draw_32:
      return DType::f32;
    case OpKind::draw_64:
      return DType::f64;
    default:
      return type;
  }
}

Op cast_to(DType type) noexcept {
  // The casts stand in the order of the types.
#define FOREBAY_DTYPE(name, type, bytes)                                          \
  static_assert(static_cast<int>(Op::to_##name) - static_cast<int>(Op::to_f64) == \
                static_cast<int>(DType::name));
  FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE
  return static_cast<Op>(static_cast<int>(Op::to_f64) + static_cast<int>(type));
}

const char* to_string(ReduceOp op) noexcept { return row(op).name; }

bool has_type(ReduceOp op, DType type) noexcept {
  return op != ReduceOp::mean || category_of(type) == Category::real;
}

ReduceRule rule_of(ReduceOp op, DType type) noexcept {
  const bool real = category_of(type) == Category::real;
  ReduceRule rule;
  rule.join = row(op).join;
  rule.identity = row(op).identity;
  rule.indexed = op == ReduceOp::argmin || op == ReduceOp::argmax;
  rule.divides = op == ReduceOp::mean;
  const bool adds = op == ReduceOp::sum || op == ReduceOp::mean;
  if (adds || op == ReduceOp::prod) {
    rule.total = real ? DType::f64 : DType::i64;
    rule.term = adds && real && type != DType::f64 ? DType::f32 : rule.total;
    rule.result = real ? type : DType::i64;
  } else {
    rule.total = is_narrow(type) ? DType::f32 : type;
    rule.term = rule.total;
    rule.result = rule.indexed ? DType::i64 : type;
  }
  return rule;
}

}  // namespace forebay::compute
