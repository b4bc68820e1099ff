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

char letter(DType type) { return "dfhblius"[static_cast<std::size_t>(type)]; }
char letter(Access access) {
  return access == Access::linear ? 'l' : access == Access::single ? 'o' : 's';
}

}  // namespace

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
    text += ";";
    text += to_string(reduction->op);
    append(text, reduction->value);
    text += "/";
    append(text, reduced_dims);
  }
  return text;
}

}  // namespace forebay::compute
