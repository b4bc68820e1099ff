#include "compute/cuda/program_text.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Instruction;
using compute::Op;
using compute::Program;
using compute::Value;

namespace {

std::string name(std::string_view letter, std::size_t number) {
  return std::string(letter) + std::to_string(number);
}

unsigned weight(Op op) {
  switch (op) {
    case Op::div:
    case Op::sqrt:
      return 12;
    case Op::exp:
      return 24;
    case Op::log:
      return 32;
    case Op::random_uniform:
      return 100;
    case Op::random_normal:
      return 180;
    default:
      return 1;
  }
}

bool is_random(Op op) { return op == Op::random_uniform || op == Op::random_normal; }

}  // namespace

unsigned weight(const Program& program) {
  unsigned sum = 0;
  for (const Instruction& instruction : program.code) sum += weight(instruction.op);
  unsigned strided = 0;
  for (const compute::Leaf& leaf : program.leaves) strided += leaf.access == Access::strided;
  return sum + (strided == 0 ? 0U : 6U * program.rank) + strided * 3U * program.rank;
}

bool ProgramText::uses_index() const {
  for (const Instruction& instruction : program_.code) {
    if (is_random(instruction.op)) return true;
  }
  return false;
}

std::string ProgramText::value(Value value) const { return name("v", value); }

void ProgramText::constants(Text& text) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (per_element(k)) continue;
    text.line("  const ", type_name(program_.leaves[k].type), " v", k, " = *a.leaf", k, ";");
  }
  for (std::size_t k = 0; k < program_.scalars.size(); ++k) {
    text.line("  const ", type_name(program_.scalars[k]), " v", program_.leaves.size() + k,
              " = a.scalar", k, ";");
  }
}

void ProgramText::arrays(Text& text) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    text.line("  ", type_name(program_.leaves[k].type), " x", k, "[", shape_.elements, "];");
  }
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    text.line("  ", type_name(program_.type_of(program_.outputs[k].value)), " y", k, "[",
              shape_.elements, "];");
  }
}

void ProgramText::values(Text& text) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    text.line("      const ", type_name(program_.leaves[k].type), " v", k, " = x", k, "[e];");
  }
  std::size_t result = program_.leaves.size() + program_.scalars.size();
  for (const Instruction& instruction : program_.code) {
    const Value inputs[] = {instruction.a, instruction.b, instruction.c};
    std::string call = "fb_" + std::string(compute::to_string(instruction.op)) + "(";
    for (int n = 0; n < compute::operands(instruction.op); ++n) {
      call += (n == 0 ? "" : ", ") + value(inputs[n]);
    }
    if (is_random(instruction.op)) call += ", (unsigned long long)i";
    text.line("      const ", type_name(instruction.type), " v", result++, " = ", call, ");");
  }
}

void ProgramText::split(Text& text, const std::vector<unsigned>& dims,
                        std::string_view index) const {
  if (dims.empty()) return;
  for (const unsigned d : dims) text.line("      long long c", d, ";");
  const unsigned outermost = dims.front();
  if (dims.size() == 1) {
    text.line("      c", outermost, " = ", index, ";");
    return;
  }
  text.line("      if (a.narrow) {");
  text.line("        unsigned rest = (unsigned)", index, ";");
  for (std::size_t n = dims.size() - 1; n > 0; --n) {
    const unsigned d = dims[n];
    text.line("        const unsigned q", d, " = fb_divide(rest, a.magic", d, ", a.shift", d, ");");
    text.line("        c", d, " = rest - q", d, " * (unsigned)a.extent", d, ";");
    text.line("        rest = q", d, ";");
  }
  text.line("        c", outermost, " = rest;");
  text.line("      } else {");
  text.line("        long long rest = ", index, ";");
  for (std::size_t n = dims.size() - 1; n > 0; --n) {
    const unsigned d = dims[n];
    text.line("        const long long q", d, " = rest / a.extent", d, ";");
    text.line("        c", d, " = rest - q", d, " * a.extent", d, ";");
    text.line("        rest = q", d, ";");
  }
  text.line("        c", outermost, " = rest;");
  text.line("      }");
}

std::string ProgramText::element(std::size_t k, const std::vector<unsigned>& dims) const {
  if (program_.leaves[k].access == Access::linear) return name("a.leaf", k) + "[i]";
  std::string offset;
  for (const unsigned d : dims) {
    offset +=
        (offset.empty() ? "" : " + ") + name("c", d) + " * " + name("a.stride", k) + name("_", d);
  }
  if (offset.empty()) offset = "0";
  return name(program_.reduction ? "p" : "a.leaf", k) + "[" + offset + "]";
}

void ProgramText::load_element(Text& text, const std::vector<unsigned>& dims) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (per_element(k)) text.line("      x", k, "[e] = inside ? ", element(k, dims), " : 0;");
  }
}

void ProgramText::store_element(Text& text) const {
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    text.line("      if (inside) a.out", k, "[i] = y", k, "[e];");
  }
}

void ProgramText::load_quad(Text& text) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    const bool real = program_.leaves[k].type == DType::f32;
    text.line("      const FbQuad w", k, " = *(const FbQuad*)(a.leaf", k, " + i);");
    for (unsigned n = 0; n < 4; ++n) {
      text.line("      x", k, "[4 * q + ", n, "] = ", real ? "FB_FLOAT(" : "(int)(", "w", k, ".w[",
                n, "]);");
    }
  }
}

void ProgramText::store_quad(Text& text) const {
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    const bool real = program_.type_of(program_.outputs[k].value) == DType::f32;
    text.line("      FbQuad w", k, ";");
    for (unsigned n = 0; n < 4; ++n) {
      text.line("      w", k, ".w[", n, "] = ", real ? "FB_BITS(" : "(unsigned)(", "y", k,
                "[4 * q + ", n, "]);");
    }
    text.line("      *(FbQuad*)(a.out", k, " + i) = w", k, ";");
  }
}

}  // namespace forebay::cuda
