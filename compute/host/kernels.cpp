#include "compute/host/kernels.hpp"

namespace forebay::compute::host {

namespace {

constexpr std::size_t kTypes = 8;

// By operation, first operand and result: constants fold on the way of every expression.
struct Table {
  const Loop* loops[kOpCount][kTypes][kTypes] = {};
  [[nodiscard]] const Loop*& at(Op op, DType a, DType result) {
    return loops[static_cast<std::size_t>(op)][static_cast<std::size_t>(a)]
                [static_cast<std::size_t>(result)];
  }
  Table() {
    for (const auto of_type : {loops_f64(), loops_f32(), loops_i64(), loops_i32(), loops_u8(),
                               loops_boolean(), loops_cast()}) {
      for (const Loop& loop : of_type) at(loop.op, loop.a, loop.result) = &loop;
    }
  }
};

}  // namespace

const Loop* find_loop(Op op, DType a, DType result) noexcept {
  static Table table;
  return table.at(op, a, result);
}

Kernel find_kernel(Op op, DType a, DType result) noexcept {
  const Loop* const loop = find_loop(op, a, result);
  return loop == nullptr ? nullptr : loop->kernel;
}

Kernel loading_kernel(DType type) noexcept {
  return is_narrow(type) ? widening_kernel(type)
                         : find_kernel(Op::to_boolean, DType::u8, DType::boolean);
}

const PairLoop* find_pair(Op first, Op second, DType type) noexcept {
  for (const PairLoop& pair : loops_pairs()) {
    if (pair.first == first && pair.second == second && pair.type == type) return &pair;
  }
  return nullptr;
}

bool is_exact(Op op) noexcept {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::relu:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc:
    case Op::min:
    case Op::max:
    case Op::clamp:
    case Op::select:
      return true;
    default:
      return false;
  }
}

}  // namespace forebay::compute::host
