#include "compute/cuda/bytecode.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace forebay::cuda {

using compute::Access;
using compute::Instruction;
using compute::Op;
using compute::OpKind;
using compute::Program;
using compute::Value;

namespace {

/// How the interpreter runs a light operation.
enum class Kind : std::uint8_t { commuting, ordered, unary, select };

/// Of the codes of a binary operation, from its first one on.
enum Form : unsigned { kWithScalar, kWithSlot, kWithItself, kReversedScalar, kReversedSlot };

struct Operation {
  Op op;
  DType operands;
  Kind kind;
  unsigned code;
};

// clang-format off
constexpr Operation kLight[] = {
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
};
// clang-format on
constexpr Operation kSelect{Op::select, DType::boolean, Kind::select, kFb_select_boolean};

bool is_small_real(DType type) noexcept { return type == DType::f16 || type == DType::bf16; }

/// The type as which a value is held.
DType held(DType type) noexcept {
  if (is_small_real(type)) return DType::f32;
  return type == DType::u8 || type == DType::boolean ? DType::i32 : type;
}

/// The light operation that computes `op` on `type`, with a rounding after it where the result has
/// a small type; null if there is none.
const Operation* find_light(Op op, DType type) noexcept {
  if (type == DType::boolean && op == Op::add) op = Op::bit_or;
  const auto* const found = std::find_if(
      std::begin(kLight), std::end(kLight),
      [&](const Operation& known) { return known.op == op && known.operands == held(type); });
  return found == std::end(kLight) ? nullptr : found;
}

/// What rounds to a small type, of what it is held as; 0 if nothing has to.
unsigned rounding_to(Op op, DType type) noexcept {
  if (kind_of(op) == OpKind::cast || op == Op::select) return 0;
  return type == DType::f16    ? kFb_to_f16_f32
         : type == DType::bf16 ? kFb_to_bf16_f32
         : type == DType::u8   ? kFb_to_u8_i32
                               : 0U;
}

unsigned general_code(Op op, DType type) noexcept {
  // In the order of DType.
  constexpr FbType kTypes[] = {kFb_f64, kFb_f32, kFb_f32, kFb_f32,
                               kFb_i64, kFb_i32, kFb_u8,  kFb_boolean};
  return kFbGeneral + static_cast<unsigned>(op) * kFbTypes + kTypes[static_cast<std::size_t>(type)];
}

/// Whether a cast changes nothing of what is held.
bool keeps_what_is_held(Op op, DType type) noexcept {
  if (kind_of(op) != OpKind::cast) return false;
  const DType result = result_type(op, type);
  if (result == type) return true;
  if (held(result) != held(type)) return false;
  return result == held(type) || (type == DType::boolean && result == DType::u8);
}

bool is_random(Op op) noexcept {
  return kind_of(op) == OpKind::draw_32 || kind_of(op) == OpKind::draw_64;
}

/// Whether the kernels of f32 and i32 sum it.
bool is_light(const compute::Reduction& reduction, DType type) noexcept {
  return (type == DType::f32 || type == DType::i32) &&
         (reduction.op == compute::ReduceOp::sum || reduction.op == compute::ReduceOp::mean);
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
        last_(slot_.size(), 0),
        read_(slot_.size(), false) {
    for (unsigned v = 0; v < alias_.size(); ++v) alias_[v] = v;
  }

  void run() {
    find_aliases();
    find_last_uses();
    place_scalars();
    place_leaves();
    for (unsigned i = 0; i < end_; ++i) {
      step(i);
      store_outputs(first_result_ + i, i);
    }
    for (unsigned v = 0; v < first_result_; ++v) store_outputs(v, end_);
    finish_code();
    out_.code.push_back(0);  // the kernels read one word ahead
    for (Bytecode::Placed& leaf : out_.leaves) leaf.read = wide(leaf.leaf) || read_[leaf.leaf];
    assert(out_.slots <= kFbScalar && out_.scalar_words <= kFbScalar);
  }

 private:
  [[nodiscard]] unsigned resolve(unsigned value) const { return alias_[value]; }
  [[nodiscard]] bool wide(unsigned value) const {
    return is_wide(program_.type_of(static_cast<Value>(value)));
  }
  [[nodiscard]] bool is_scalar(unsigned value) const {
    return value >= first_scalar_ && value < first_result_;
  }
  [[nodiscard]] unsigned operand(unsigned value) {
    read_[value] = true;
    return is_scalar(value) ? kFbScalar | out_.scalar_at[value - first_scalar_] : slot_[value];
  }
  void emit(unsigned code, unsigned b = 0, unsigned c = 0) {
    out_.code.push_back(code << kFbCodeShift | b << kFbOperandBits | c);
    out_.typed = out_.typed || code >= kFbTyped;
  }

  /// A cast that changes nothing is its operand by another name.
  void find_aliases() {
    for (unsigned i = 0; i < end_; ++i) {
      const Instruction& instruction = program_.code[i];
      if (keeps_what_is_held(instruction.op, program_.type_of(instruction.a))) {
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

  void place_scalars() {
    for (const DType type : program_.scalars) {
      out_.scalar_at.push_back(static_cast<std::uint16_t>(out_.scalar_words));
      out_.scalar_words += is_wide(type) ? 2 : 1;
    }
  }

  void place_leaves() {
    for (unsigned k = 0; k < first_scalar_; ++k) {
      const DType type = program_.leaves[k].type;
      out_.typed = out_.typed || form_of(type) != kFbWord;
      if (program_.leaves[k].access == Access::single) continue;
      slot_[k] = take_slot(is_wide(type));
      accumulator_ = is_wide(type) ? kNone : k;
      out_.leaves.push_back(
          {static_cast<std::uint16_t>(k), static_cast<std::uint16_t>(slot_[k]), false});
    }
    for (unsigned k = 0; k < first_scalar_; ++k) {
      if (program_.leaves[k].access != Access::single) continue;
      const auto single = static_cast<unsigned>(out_.singles.size());
      out_.singles.push_back(static_cast<std::uint16_t>(k));
      if (wide(k)) {
        slot_[k] = take_slot(true);
        emit(kFbSingleWide, single, slot_[k]);
      } else {
        emit(kFbSingle, single);
        accumulator_ = k;
        settle(k);
      }
    }
  }

  /// One slot, or two beside each other.
  [[nodiscard]] unsigned take_slot(bool two) {
    std::vector<unsigned>& idle = idle_[two];
    if (idle.empty()) {
      const unsigned slot = out_.slots;
      out_.slots += two ? 2 : 1;
      return slot;
    }
    const unsigned slot = idle.back();
    idle.pop_back();
    return slot;
  }
  /// Gives back the slot of a value that has had its last use at `i`.
  void finish(unsigned value, unsigned i) {
    if (is_scalar(value) || slot_[value] == kNone || last_[value] != i) return;
    idle_[wide(value)].push_back(slot_[value]);
    slot_[value] = kNone;
  }
  void finish_operands(const Instruction& instruction, unsigned i) {
    const Value read[] = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < compute::operands(instruction.op); ++k) finish(resolve(read[k]), i);
  }
  /// Makes a value readable beside the accumulator.
  void settle(unsigned value) {
    if (is_scalar(value) || slot_[value] != kNone) return;
    assert(accumulator_ == value && !wide(value));
    slot_[value] = take_slot(false);
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

  void light(const Operation& operation, unsigned a, unsigned b, unsigned c, unsigned i) {
    if (operation.kind == Kind::commuting || operation.kind == Kind::ordered) {
      binary(operation, a, b, i);
      return;
    }
    if (operation.kind == Kind::select) {
      settle(b);
      settle(c);
    }
    load(a, i);
    keep_accumulator(i);
    if (operation.kind == Kind::select) {
      emit(operation.code, operand(b), operand(c));
    } else {
      emit(operation.code);
    }
  }

  /// From slots to slots; a result of one word is in the accumulator as well.
  void general(const Instruction& instruction, DType type, unsigned i) {
    const Value read[] = {instruction.a, instruction.b, instruction.c};
    unsigned operands[] = {0, 0, 0};
    keep_accumulator(i);
    for (int k = 0; k < compute::operands(instruction.op); ++k) {
      settle(resolve(read[k]));
      operands[k] = operand(resolve(read[k]));
    }
    const bool random = is_random(instruction.op);
    if (random) {
      operands[2] = take_slot(true);
      emit(kFbIndex, operands[2]);
    }
    finish_operands(instruction, i);
    const unsigned slot = take_slot(is_wide(instruction.type));
    emit(general_code(instruction.op, type), slot, operands[0]);
    out_.code.push_back(operands[1] << kFbOperandBits | operands[2]);
    if (random) idle_[true].push_back(operands[2]);
    slot_[first_result_ + i] = slot;
  }

  /// Whether only outputs of its own type, which round, want the result of instruction `i`. Those
  /// of bf16 do not: NaNs that are only copied keep their bits.
  [[nodiscard]] bool left_to_store(unsigned result, unsigned i) const {
    const DType type = program_.type_of(static_cast<Value>(result));
    if (type == DType::bf16 || last_[result] > i) return false;
    return std::all_of(
        program_.outputs.begin(), program_.outputs.end(), [&](const compute::Output& output) {
          return resolve(output.value) != result || program_.type_of(output.value) == type;
        });
  }

  void step(unsigned i) {
    Instruction instruction = program_.code[i];
    const unsigned result = first_result_ + i;
    if (alias_[result] != result) return;
    if (instruction.op == Op::less) {  // has no code of its own
      instruction.op = Op::greater;
      std::swap(instruction.a, instruction.b);
    }
    // Of a choice, the width of what is chosen from.
    const bool choice = instruction.op == Op::select;
    const DType type = choice ? (is_wide(instruction.type) ? DType::i64 : DType::i32)
                              : program_.type_of(instruction.a);
    const Operation* const operation = !choice        ? find_light(instruction.op, type)
                                       : wide(result) ? nullptr
                                                      : &kSelect;
    if (operation != nullptr) {
      light(*operation, resolve(instruction.a), resolve(instruction.b), resolve(instruction.c), i);
      finish_operands(instruction, i);
    } else {
      general(instruction, type, i);
    }
    accumulator_ = wide(result) ? kNone : result;
    if (const unsigned rounding = rounding_to(instruction.op, instruction.type)) {
      if (operation == nullptr && type == DType::u8) return;  // has been
      if (!left_to_store(result, i)) emit(rounding);
      if (operation == nullptr) {
        idle_[false].push_back(slot_[result]);
        slot_[result] = kNone;
      }
    }
  }

  /// A result is stored where it is computed, while the accumulator has it; others at the end.
  void store_outputs(unsigned value, unsigned i) {
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      const Value stored = program_.outputs[k].value;
      if (resolve(stored) != value) continue;
      out_.typed = out_.typed || form_of(program_.type_of(stored)) != kFbWord;
      if (wide(value)) {
        emit(kFbOutWide, static_cast<unsigned>(k), operand(value));
        continue;
      }
      load(value, i);
      // What is stored beside a reduction needs a slot to go through.
      if (program_.reduction && work_ == kNone) work_ = take_slot(false);
      emit(kFbOut, static_cast<unsigned>(k), program_.reduction ? work_ : 0);
    }
  }

  /// The end, with what is reduced in the accumulator: that of the last store, if it is last.
  void finish_code() {
    if (program_.reduction && reduce()) return;
    std::vector<std::uint32_t>& code = out_.code;
    if (!code.empty() && code.back() >> kFbCodeShift == kFbOut) {
      code.back() += (kFbOutLast - kFbOut) << kFbCodeShift;
    } else {
      emit(kFbEnd);
    }
  }

  /// Brings what is reduced where it is looked for; whether that ended the code.
  [[nodiscard]] bool reduce() {
    const DType type = program_.type_of(program_.reduction->value);
    const unsigned value = resolve(program_.reduction->value);
    out_.typed = out_.typed || !is_light(*program_.reduction, type);
    if (!wide(value)) {
      load(value, end_);
      return false;
    }
    unsigned slot = slot_[value];
    if (is_scalar(value)) {
      slot = take_slot(true);
      emit(general_code(compute::cast_to(type), type), slot, operand(value));
      out_.code.push_back(0);
    }
    emit(kFbEnd, slot);
    return true;
  }

  const Program& program_;
  Bytecode& out_;
  const unsigned first_scalar_, first_result_, end_;
  std::vector<unsigned> slot_;     // of each value; kNone while it is in the accumulator or nowhere
  std::vector<unsigned> alias_;    // the value that a value is
  std::vector<unsigned> last_;     // the last instruction that reads it; end_: what comes after all
  std::vector<bool> read_;         // of each value, whether code reads its slot
  std::vector<unsigned> idle_[2];  // slots, single ones and pairs
  unsigned accumulator_ = kNone;
  unsigned work_ = kNone;
};

}  // namespace

Bytecode::Bytecode(const Program& program) { Writer(program, *this).run(); }

FbForm form_of(DType type) noexcept {
  // In the order of DType.
  constexpr FbForm kForms[] = {kFbWide, kFbWord, kFbF16,  kFbBf16,
                               kFbWide, kFbWord, kFbByte, kFbBoolean};
  return kForms[static_cast<std::size_t>(type)];
}

std::string code_name(unsigned code) {
  // clang-format off
#define FB_COMMUTING_NAMES(name, type) \
  #name "_" #type "_s", #name "_" #type "_m", #name "_" #type "_a",
#define FB_ORDERED_NAMES(name, type) \
  FB_COMMUTING_NAMES(name, type) #name "_" #type "_rs", #name "_" #type "_rm",
#define FB_NAMES(name, type) #name "_" #type,
  static constexpr const char* kNames[] = {
      FB_COMMUTING_FIRST(FB_COMMUTING_NAMES)
      FB_ORDERED_FIRST(FB_ORDERED_NAMES)
      "end", "load", "store", "out", "out_last", "single",
      FB_COMMUTING(FB_COMMUTING_NAMES)
      FB_ORDERED(FB_ORDERED_NAMES)
      FB_UNARY(FB_NAMES)
      FB_CHOICE(FB_NAMES)
      "out_wide", "single_wide", "index",
  };
  // clang-format on
  static_assert(std::size(kNames) == kFbGeneral);
  static constexpr const char* kTypes[kFbTypes] = {"f64", "f32", "i64", "i32", "u8", "boolean"};
  if (code < kFbGeneral) return kNames[code];
  if (code >= kFbCodes) return "?";
  const unsigned general = code - kFbGeneral;
  return std::string(to_string(static_cast<Op>(general / kFbTypes))) + ":" +
         kTypes[general % kFbTypes];
}

}  // namespace forebay::cuda
