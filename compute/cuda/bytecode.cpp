#include "compute/cuda/bytecode.hpp"

#include <algorithm>
#include <cassert>

namespace forebay::cuda {

using compute::Access;
using compute::Instruction;
using compute::Op;
using compute::Program;
using compute::Value;

namespace {

/// How the interpreter runs an operation.
enum class Kind : std::uint8_t { commuting, ordered, unary, heavy_unary, heavy_binary, select };

/// Of the codes of a binary operation, from its first one on.
enum Form : unsigned { kWithScalar, kWithSlot, kWithItself, kReversedScalar, kReversedSlot };

struct Operation {
  Op op;
  DType operands;
  Kind kind;
  unsigned code;
};

// clang-format off
constexpr Operation kOperations[] = {
#define FB_ROW(name, type) {Op::name, DType::type, Kind::commuting, kFb_##name##_##type##_s},
    FB_COMMUTING_FIRST(FB_ROW)
    FB_COMMUTING(FB_ROW)
#undef FB_ROW
#define FB_ROW(name, type) {Op::name, DType::type, Kind::ordered, kFb_##name##_##type##_s},
    FB_ORDERED_FIRST(FB_ROW)
    FB_ORDERED(FB_ROW)
#undef FB_ROW
#define FB_ROW(name, type) {Op::name, DType::type, Kind::unary, kFb_##name##_##type},
    FB_UNARY(FB_ROW)
#undef FB_ROW
#define FB_ROW(name, type) {Op::name, DType::type, Kind::heavy_unary, kFb_##name##_##type},
    FB_HEAVY_UNARY(FB_ROW)
#undef FB_ROW
#define FB_ROW(name, type) {Op::name, DType::type, Kind::heavy_binary, kFb_##name##_##type},
    FB_HEAVY_BINARY(FB_ROW)
    FB_RANDOM(FB_ROW)
#undef FB_ROW
#define FB_ROW(name, type) {Op::name, DType::type, Kind::select, kFb_##name##_##type},
    FB_CHOICE(FB_ROW)
#undef FB_ROW
};
// clang-format on

const Operation* find(Op op, DType operands) noexcept {
  const auto* const found = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Operation& known) { return known.op == op && known.operands == operands; });
  return found == std::end(kOperations) ? nullptr : found;
}

bool is_word(DType type) noexcept { return type == DType::f32 || type == DType::i32; }
/// Whether values of a type may lie in the machine.
bool is_held(DType type) noexcept { return is_word(type) || type == DType::boolean; }

bool is_same_type_cast(Op op, DType operands) noexcept {
  return is_held(operands) && op == compute::cast_to(operands);
}

constexpr unsigned kNone = ~0U;

/// Writes the code of one program, value by value.
class Writer {
 public:
  Writer(const Program& program, Bytecode& out)
      : program_(program),
        out_(out),
        first_scalar_(static_cast<unsigned>(program.leaves.size())),
        first_result_(first_scalar_ + static_cast<unsigned>(program.scalars.size())),
        end_(static_cast<unsigned>(program.code.size())),
        slot_(first_result_ + program.code.size(), kNone),
        alias_(slot_.size()),
        last_(slot_.size(), 0) {
    for (unsigned v = 0; v < alias_.size(); ++v) alias_[v] = v;
  }

  void run() {
    find_aliases();
    find_last_uses();
    place_leaves();
    for (unsigned i = 0; i < end_; ++i) {
      step(i);
      store_outputs(first_result_ + i, i);
    }
    for (unsigned v = 0; v < first_result_; ++v) store_outputs(v, end_);
    if (program_.reduction) load(resolve(program_.reduction->value), end_);
    emit(kFbEnd);
    out_.code.push_back(0);  // the kernels read one word ahead
    if (scratch_) out_.scratch = out_.slots++;
  }

 private:
  [[nodiscard]] unsigned resolve(unsigned value) const { return alias_[value]; }
  [[nodiscard]] bool is_scalar(unsigned value) const {
    return value >= first_scalar_ && value < first_result_;
  }
  [[nodiscard]] unsigned operand(unsigned value) const {
    return is_scalar(value) ? kFbScalar | (value - first_scalar_) : slot_[value];
  }
  void emit(unsigned code, unsigned b = 0, unsigned c = 0) {
    out_.code.push_back(code << kFbCodeShift | b << kFbOperandBits | c);
  }

  /// A cast to the same type is its operand by another name.
  void find_aliases() {
    for (unsigned i = 0; i < end_; ++i) {
      const Instruction& instruction = program_.code[i];
      if (is_same_type_cast(instruction.op, program_.type_of(instruction.a))) {
        alias_[first_result_ + i] = resolve(instruction.a);
      }
    }
  }

  void find_last_uses() {
    for (unsigned i = 0; i < end_; ++i) {
      const Instruction& instruction = program_.code[i];
      const Value read[] = {instruction.a, instruction.b, instruction.c};
      for (int k = 0; k < compute::operands(instruction.op); ++k) last_[resolve(read[k])] = i;
    }
    // Leaves and scalars are stored after all code, results where they are computed.
    for (const compute::Output& output : program_.outputs) {
      if (resolve(output.value) < first_result_) last_[resolve(output.value)] = end_;
    }
    if (program_.reduction) last_[resolve(program_.reduction->value)] = end_;
  }

  void place_leaves() {
    for (unsigned k = 0; k < first_scalar_; ++k) {
      if (program_.leaves[k].access == Access::single) continue;
      slot_[k] = out_.slots++;
      out_.leaves.push_back(static_cast<std::uint16_t>(k));
    }
    for (unsigned k = 0; k < first_scalar_; ++k) {
      if (program_.leaves[k].access != Access::single) continue;
      emit(kFbSingle, static_cast<unsigned>(out_.singles.size()));
      out_.singles.push_back(static_cast<std::uint16_t>(k));
      accumulator_ = k;
      settle(k);
    }
  }

  [[nodiscard]] unsigned take_slot() {
    if (idle_.empty()) return out_.slots++;
    const unsigned slot = idle_.back();
    idle_.pop_back();
    return slot;
  }
  /// Gives back the slot of a value that has had its last use at `i`.
  void finish(unsigned value, unsigned i) {
    if (is_scalar(value) || slot_[value] == kNone || last_[value] != i) return;
    idle_.push_back(slot_[value]);
    slot_[value] = kNone;
  }
  /// Makes a value readable beside the accumulator.
  void settle(unsigned value) {
    if (is_scalar(value) || slot_[value] != kNone) return;
    assert(accumulator_ == value);
    slot_[value] = take_slot();
    emit(kFbStore, slot_[value]);
  }
  /// What is in the accumulator stays readable if it is needed after `i`.
  void keep_accumulator(unsigned i) {
    if (accumulator_ != kNone && last_[accumulator_] > i) settle(accumulator_);
  }
  /// acc = value, at instruction `i`.
  void load(unsigned value, unsigned i) {
    if (accumulator_ == value) return;
    // The value before is needed by this instruction too, if at all.
    if (accumulator_ != kNone && last_[accumulator_] >= i) settle(accumulator_);
    emit(kFbLoad, operand(value));
    accumulator_ = value;
  }

  void binary(const Operation& operation, unsigned a, unsigned b, unsigned i) {
    const bool ordered = operation.kind == Kind::ordered;
    // With b at hand, or a scalar in front, the accumulator is the second operand.
    const bool reversed = a != b && (accumulator_ == b || (accumulator_ != a && is_scalar(a)));
    const unsigned own = reversed ? b : a;
    const unsigned other = reversed ? a : b;
    load(own, i);
    keep_accumulator(i);
    if (a == b) {
      emit(operation.code + kWithItself);
      return;
    }
    unsigned form = is_scalar(other) ? kWithScalar : kWithSlot;
    if (reversed && ordered) form = is_scalar(other) ? kReversedScalar : kReversedSlot;
    emit(operation.code + form, operand(other) & ~unsigned{kFbScalar});
  }

  void step(unsigned i) {
    const Instruction& instruction = program_.code[i];
    const unsigned result = first_result_ + i;
    if (alias_[result] != result) return;
    const DType type = program_.type_of(instruction.a);
    const Operation* const operation = find(instruction.op, type);
    assert(operation != nullptr);
    const unsigned a = resolve(instruction.a);
    const unsigned b = resolve(instruction.b);
    const unsigned c = resolve(instruction.c);
    switch (operation->kind) {
      case Kind::commuting:
      case Kind::ordered:
        binary(*operation, a, b, i);
        break;
      case Kind::unary:
      case Kind::heavy_unary:
        load(a, i);
        keep_accumulator(i);
        emit(operation->code);
        scratch_ = scratch_ || operation->kind == Kind::heavy_unary;
        break;
      case Kind::heavy_binary:
        settle(b);
        load(a, i);
        keep_accumulator(i);
        emit(operation->code, operand(b));
        scratch_ = true;
        break;
      case Kind::select:
        settle(b);
        settle(c);
        load(a, i);
        keep_accumulator(i);
        emit(operation->code, operand(b), operand(c));
        break;
    }
    const unsigned read[] = {a, b, c};
    const int count = compute::operands(instruction.op);
    for (int k = 0; k < count; ++k) finish(read[k], i);
    accumulator_ = result;
  }

  /// A result is stored where it is computed, while the accumulator has it; others at the end.
  void store_outputs(unsigned value, unsigned i) {
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      if (resolve(program_.outputs[k].value) != value) continue;
      load(value, i);
      emit(kFbOut, static_cast<unsigned>(k));
      scratch_ = scratch_ || program_.reduction.has_value();
    }
  }

  const Program& program_;
  Bytecode& out_;
  const unsigned first_scalar_, first_result_, end_;
  std::vector<unsigned> slot_;   // of each value; kNone while it is in the accumulator or nowhere
  std::vector<unsigned> alias_;  // the value that a value is
  std::vector<unsigned> last_;   // the last instruction that reads it; end_: what comes after all
  std::vector<unsigned> idle_;   // slots
  unsigned accumulator_ = kNone;
  bool scratch_ = false;
};

}  // namespace

Bytecode::Bytecode(const Program& program) { Writer(program, *this).run(); }

bool interpretable(Op op, DType operands) noexcept {
  return is_same_type_cast(op, operands) || find(op, operands) != nullptr;
}

bool interpretable(const Program& program) noexcept {
  const auto word = [](const compute::Leaf& leaf) { return is_word(leaf.type); };
  const auto stored = [&](const compute::Output& output) {
    return is_word(program.type_of(output.value));
  };
  const auto known = [&](const Instruction& instruction) {
    return is_held(instruction.type) &&
           interpretable(instruction.op, program.type_of(instruction.a));
  };
  if (program.scalars.size() > kFbScalar ||
      !std::all_of(program.leaves.begin(), program.leaves.end(), word) ||
      !std::all_of(program.scalars.begin(), program.scalars.end(), is_held) ||
      !std::all_of(program.outputs.begin(), program.outputs.end(), stored) ||
      !std::all_of(program.code.begin(), program.code.end(), known)) {
    return false;
  }
  if (!program.reduction) return true;
  // Means are of f32: of integers there are none.
  return program.reduction->op == compute::ReduceOp::sum ||
         program.reduction->op == compute::ReduceOp::mean;
}

const char* code_name(unsigned code) noexcept {
  // clang-format off
#define FB_COMMUTING_NAMES(name, type) \
  #name "_" #type "_s", #name "_" #type "_m", #name "_" #type "_a",
#define FB_ORDERED_NAMES(name, type) \
  FB_COMMUTING_NAMES(name, type) #name "_" #type "_rs", #name "_" #type "_rm",
#define FB_NAMES(name, type) #name "_" #type,
  static constexpr const char* kNames[] = {
      FB_COMMUTING_FIRST(FB_COMMUTING_NAMES)
      FB_ORDERED_FIRST(FB_ORDERED_NAMES)
      "end", "load", "store", "out", "single",
      FB_COMMUTING(FB_COMMUTING_NAMES)
      FB_ORDERED(FB_ORDERED_NAMES)
      FB_UNARY(FB_NAMES)
      FB_HEAVY_UNARY(FB_NAMES)
      FB_HEAVY_BINARY(FB_NAMES)
      FB_RANDOM(FB_NAMES)
      FB_CHOICE(FB_NAMES)
  };
  // clang-format on
  static_assert(std::size(kNames) == kFbCodes);
  return code < kFbCodes ? kNames[code] : "?";
}

}  // namespace forebay::cuda
