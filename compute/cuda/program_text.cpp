#include "compute/cuda/program_text.hpp"

#include <set>

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
    case Op::rsqrt:
    case Op::exp:
    case Op::floor_div:
    case Op::remainder:
      return 24;
    case Op::log:
    case Op::tanh:
    case Op::sigmoid:
    case Op::silu:
      return 40;
    case Op::exp2:
    case Op::expm1:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::atan2:
    case Op::sinh:
    case Op::cosh:
      return 60;
    case Op::random_uniform:
    case Op::random_uniform_f64:
    case Op::erf:
    case Op::softplus:
      return 100;
    case Op::pow:
    case Op::gelu:
    case Op::random_normal:
    case Op::random_normal_f64:
      return 180;
    default:
      return 1;
  }
}

bool is_random(Op op) {
  const compute::OpKind kind = compute::kind_of(op);
  return kind == compute::OpKind::draw_32 || kind == compute::OpKind::draw_64;
}

std::string_view zero_of(DType type) {
  return type == DType::f16 ? "FbHalf{0}" : type == DType::bf16 ? "FbBfloat{0}" : "0";
}

std::string pack_of(DType type, unsigned elements) {
  return "FbPack<" + std::string(memory_name(type)) + ", " + std::to_string(elements) + ">";
}

// A scalar argument as a value of its type; the small ones come as a whole word.
std::string scalar_of(DType type, std::size_t k) {
  const std::string word = name("a.scalar", k);
  switch (type) {
    case DType::f16:
      return "FbHalf{(unsigned short)" + word + "}";
    case DType::bf16:
      return "FbBfloat{(unsigned short)" + word + "}";
    case DType::u8:
      return "(unsigned char)" + word;
    case DType::boolean:
      return word + " != 0";
    default:
      return word;
  }
}

// The forms that are not yet `known`.
void narrow_forms(Text& text, const Program& program, std::set<Op>& known) {
  using compute::OpKind;
  for (const Instruction& instruction : program.code) {
    const DType type = program.type_of(instruction.a);
    if (type != DType::f16 && type != DType::bf16) continue;
    const OpKind kind = kind_of(instruction.op);
    if (kind == OpKind::cast || !known.insert(instruction.op).second) continue;
    const std::string_view form = kind == OpKind::test            ? "TEST"
                                  : kind == OpKind::compare       ? "COMPARE"
                                  : operands(instruction.op) == 1 ? "1"
                                  : operands(instruction.op) == 2 ? "2"
                                                                  : "3";
    text.line("FB_NARROW_", form, "(fb_", to_string(instruction.op), ")");
  }
}

}  // namespace

unsigned weight(const Program& program) {
  unsigned sum = 0;
  for (const Instruction& instruction : program.code) sum += weight(instruction.op);
  unsigned strided = 0;
  for (const compute::Leaf& leaf : program.leaves) strided += leaf.access == Access::strided;
  return sum + (strided == 0 ? 0U : 6U * program.rank) + strided * 3U * program.rank;
}

void narrow_forms(Text& text, std::span<const Program* const> programs) {
  std::set<Op> known;
  for (const Program* const program : programs) narrow_forms(text, *program, known);
}

void load_packs(Text& text, const KernelShape& shape, DType type, std::string_view pack,
                std::string_view from, std::string_view to) {
  const unsigned n = elements_of_access(shape, type);
  const std::string of = pack_of(type, n);
  for (unsigned at = 0; at < shape.run; at += n) {
    text.line("      const ", of, " ", pack, at, " = *(const ", of, "*)(", from, " + ", at, ");");
    text.line("      #pragma unroll");
    text.line("      for (int n = 0; n < ", n, "; ++n) ", to, "[", shape.run, " * q + ", at,
              " + n] = ", pack, at, ".v[n];");
  }
}

void store_packs(Text& text, const KernelShape& shape, DType type, std::string_view pack,
                 std::string_view from, std::string_view to) {
  const unsigned n = elements_of_access(shape, type);
  const std::string of = pack_of(type, n);
  for (unsigned at = 0; at < shape.run; at += n) {
    text.line("      ", of, " ", pack, at, ";");
    text.line("      #pragma unroll");
    text.line("      for (int n = 0; n < ", n, "; ++n) ", pack, at, ".v[n] = ", from, "[",
              shape.run, " * q + ", at, " + n];");
    text.line("      *(", of, "*)(", to, " + ", at, ") = ", pack, at, ";");
  }
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
    text.line("  const ", type_name(program_.scalars[k]), " v", program_.leaves.size() + k, " = ",
              scalar_of(program_.scalars[k], k), ";");
  }
}

void ProgramText::arrays(Text& text, unsigned elements) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    text.line("  ", memory_name(program_.leaves[k].type), " x", k, "[", elements, "];");
  }
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    text.line("  ", memory_name(program_.type_of(program_.outputs[k].value)), " y", k, "[",
              elements, "];");
  }
}

void ProgramText::compute(Text& text) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    text.line("      const ", type_name(program_.leaves[k].type), " v", k, " = x", k, "[e];");
  }
  code(text);
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    text.line("      y", k, "[e] = ", value(program_.outputs[k].value), ";");
  }
}

void ProgramText::code(Text& text) const {
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

void ProgramText::load_element(Text& text, const std::vector<unsigned>& dims, Bounds bounds) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    if (bounds == Bounds::known) {
      text.line("      x", k, "[e] = ", element(k, dims), ";");
    } else {
      text.line("      x", k, "[e] = inside ? ", element(k, dims), " : ",
                zero_of(program_.leaves[k].type), ";");
    }
  }
}

void ProgramText::store_element(Text& text) const {
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    text.line("      a.out", k, "[i] = y", k, "[e];");
  }
}

void ProgramText::load_run(Text& text, const std::vector<unsigned>& dims) const {
  for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
    if (!per_element(k)) continue;
    const DType type = program_.leaves[k].type;
    text.line("      const ", memory_name(type), "* const r", k, " = &", element(k, dims), ";");
    const bool strided = program_.leaves[k].access == Access::strided;
    if (strided) text.line("      if (a.packed >> ", k, " & 1) {");
    load_packs(text, shape_, type, name("w", k) + "_", name("r", k), name("x", k));
    if (!strided) continue;
    text.line("      } else {");
    text.line("      #pragma unroll");
    text.line("      for (int n = 0; n < ", shape_.run, "; ++n) x", k, "[", shape_.run,
              " * q + n] = r", k, "[n * a.stride", k, "_", dims.back(), "];");
    text.line("      }");
  }
}

void ProgramText::store_run(Text& text) const {
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    const DType type = program_.type_of(program_.outputs[k].value);
    store_packs(text, shape_, type, name("w", k) + "_", name("y", k), name("a.out", k) + " + i");
  }
}

}  // namespace forebay::cuda
