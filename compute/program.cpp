#include "forebay/compute/program.hpp"

#include <array>
#include <charconv>

namespace forebay::compute {
namespace {

void append(std::string& text, unsigned value) {
  std::array<char, 12> digits;
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

char letter(DType type) { return type == DType::f32 ? 'f' : 'i'; }
char letter(Access access) {
  return access == Access::linear ? 'l' : access == Access::single ? 'o' : 's';
}

}  // namespace

const char* to_string(Op op) noexcept {
  static constexpr const char* kNames[] = {
#define FOREBAY_OP(name, operands) #name,
      FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
  };
  return kNames[static_cast<std::size_t>(op)];
}

int operands(Op op) noexcept {
  static constexpr int kOperands[] = {
#define FOREBAY_OP(name, operands) operands,
      FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
  };
  return kOperands[static_cast<std::size_t>(op)];
}

std::string Program::key() const {
  std::string text = "r";
  append(text, rank);
  text += ";";
  for (const Leaf& leaf : leaves) {
    text += letter(leaf.type);
    text += letter(leaf.access);
  }
  text += ";";
  for (const DType type : scalars) text += letter(type);
  for (const Instruction& instruction : code) {
    text += ";";
    text += to_string(instruction.op);
    text += ":";
    text += letter(instruction.type);
    const Value values[] = {instruction.a, instruction.b, instruction.c};
    for (int i = 0; i < operands(instruction.op); ++i) {
      text += ",";
      append(text, values[i]);
    }
  }
  for (const Output& output : outputs) {
    text += ";=";
    append(text, output.value);
  }
  if (reduction) {
    text += reduction->op == ReduceOp::sum ? ";sum" : ";mean";
    append(text, reduction->value);
    text += "/";
    append(text, reduced_dims);
  }
  return text;
}

DType Program::type_of(Value value) const {
  std::size_t i = value;
  if (i < leaves.size()) return leaves[i].type;
  i -= leaves.size();
  if (i < scalars.size()) return scalars[i];
  return code.at(i - scalars.size()).type;
}

}  // namespace forebay::compute
