#include "tests/compute/cuda/sample_programs.hpp"

#include <random>

#include "compute/cuda/kernel_arguments.hpp"

namespace forebay::test {

using compute::Access;
using compute::Instruction;
using compute::Leaf;
using compute::Op;
using compute::Output;
using compute::Program;
using compute::ReduceOp;
using compute::Reduction;
using compute::Value;

namespace {

bool only_f32(Op op) { return op == Op::exp || op == Op::log || op == Op::sqrt || op == Op::div; }
bool random(Op op) { return op == Op::random_uniform || op == Op::random_normal; }

constexpr Op kOps[] = {
#define FOREBAY_OP(name, operands) Op::name,
    FOREBAY_ELEMENTWISE_OPS(FOREBAY_OP)
#undef FOREBAY_OP
};

DType result_type(Op op, DType operand) {
  if (op == Op::to_f32 || random(op)) return DType::f32;
  return op == Op::to_i32 ? DType::i32 : operand;
}

}  // namespace

std::vector<NamedProgram> operation_programs(Access access, std::uint8_t rank) {
  std::vector<NamedProgram> programs;
  const auto base = [&] {
    Program program;
    program.rank = rank;
    for (const DType type :
         {DType::f32, DType::f32, DType::f32, DType::i32, DType::i32, DType::i32}) {
      program.leaves.push_back({type, access});
    }
    return program;
  };
  Program program = base();
  const std::string form = access == Access::linear ? "linear" : "strided";
  const auto finish = [&] {
    programs.push_back({"operations_" + form + std::to_string(programs.size()), program});
    program = base();
  };
  const auto add = [&](Op op, DType operand, Value a, Value b, Value c) {
    const auto value = static_cast<Value>(program.leaves.size() + program.code.size());
    program.code.push_back(
        {op, op == Op::select ? program.type_of(b) : result_type(op, operand), a, b, c});
    program.outputs.push_back({value});
    if (program.outputs.size() == cuda::kLimits.max_outputs) finish();
  };
  for (const Op op : kOps) {
    if (op == Op::select) {
      for (const Value condition : {Value{0}, Value{3}}) {
        add(op, DType::f32, condition, 1, 2);
        add(op, DType::i32, condition, 4, 5);
      }
      continue;
    }
    if (!random(op)) add(op, DType::f32, 0, 1, 0);
    if (!only_f32(op)) add(op, DType::i32, 3, 4, 0);
  }
  if (!program.code.empty()) finish();
  return programs;
}

Program widest_program(bool reduced) {
  Program program;
  program.rank = kMaxRank;
  program.leaves.assign(cuda::kLimits.max_leaves, {DType::f32, Access::strided});
  // A tree of selections has twice as many inputs as operations: all but the leaves are scalars.
  const std::size_t operations = cuda::kLimits.max_ops;
  const std::size_t inputs = 2 * operations + 1;
  program.scalars.assign(inputs - program.leaves.size() + cuda::kLimits.max_outputs, DType::f32);
  Value next = 0;
  for (std::size_t k = 0; k < operations; ++k) {
    const Value last =
        k == 0 ? next++
               : static_cast<Value>(program.leaves.size() + program.scalars.size() + k - 1);
    const Value b = next++;
    const Value c = next++;
    program.code.push_back({Op::select, DType::f32, last, b, c});
  }
  const std::size_t values = program.leaves.size() + program.scalars.size() + operations;
  for (std::size_t k = 0; k < cuda::kLimits.max_outputs; ++k) {
    program.outputs.push_back({static_cast<Value>(values - 1 - k)});
  }
  if (reduced) {
    program.reduction = Reduction{ReduceOp::mean, static_cast<Value>(values - 1)};
    program.reduced_dims = 0b01010101;
  }
  return program;
}

Program random_program(unsigned seed) {
  std::mt19937 source(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(source() % n); };
  const auto type = [&] { return below(3) == 0 ? DType::i32 : DType::f32; };
  Program program;
  const bool strided = below(2) == 0;
  program.rank = static_cast<std::uint8_t>(strided ? 1 + below(4) : 1);
  const std::size_t leaves = below(5);
  for (std::size_t k = 0; k < leaves; ++k) {
    const Access access = below(4) == 0              ? Access::single
                          : strided && below(2) == 0 ? Access::strided
                                                     : Access::linear;
    program.leaves.push_back({type(), access});
  }
  const std::size_t scalars = leaves == 0 ? 2 : below(3);
  for (std::size_t k = 0; k < scalars; ++k) program.scalars.push_back(type());

  const std::size_t operations = below(4) == 0 ? 30 + below(40) : below(10);
  std::size_t values = leaves + scalars;
  for (std::size_t tries = 0; program.code.size() < operations && tries < 1000; ++tries) {
    const Op op = kOps[below(std::size(kOps))];
    const auto pick = [&] { return static_cast<Value>(below(values)); };
    const Instruction drawn{op, DType::f32, pick(), pick(), pick()};
    const DType a = program.type_of(drawn.a);
    const DType b = program.type_of(drawn.b);
    if (only_f32(op) && a != DType::f32) continue;
    if (random(op) && (a != DType::i32 || b != DType::i32)) continue;
    if (op == Op::select ? b != program.type_of(drawn.c) : compute::operands(op) == 2 && a != b)
      continue;
    program.code.push_back(drawn);
    program.code.back().type = op == Op::select ? b : result_type(op, a);
    ++values;
  }
  const std::size_t outputs = below(4);
  for (std::size_t k = 0; k < outputs; ++k) {
    program.outputs.push_back(
        {static_cast<Value>(values - 1 - below(std::min<std::size_t>(values, 4)))});
  }
  if (program.outputs.empty() || below(2) == 0) {
    const auto value = static_cast<Value>(values - 1);
    const bool mean = program.type_of(value) == DType::f32 && below(2) == 0;
    program.reduction = Reduction{mean ? ReduceOp::mean : ReduceOp::sum, value};
    if (!strided) program.rank = static_cast<std::uint8_t>(1 + below(3));
    program.reduced_dims = static_cast<std::uint8_t>(below(std::size_t{1} << program.rank));
  }
  return program;
}

Program sum_program(Leaf leaf, std::uint8_t rank, std::uint8_t reduced_dims) {
  Program program;
  program.leaves = {leaf};
  program.rank = rank;
  program.reduction = Reduction{ReduceOp::sum, 0};
  program.reduced_dims = reduced_dims;
  return program;
}

std::vector<NamedProgram> sample_programs() {
  std::vector<NamedProgram> programs = operation_programs(Access::linear, 1);
  for (NamedProgram& named : operation_programs(Access::strided, 3))
    programs.push_back(std::move(named));
  programs.push_back({"widest_map", widest_program(false)});
  programs.push_back({"widest_reduction", widest_program(true)});

  constexpr Leaf kLinear{DType::f32, Access::linear};
  programs.push_back({"sum_all", sum_program(kLinear, 1, 0b1)});
  programs.push_back({"sum_all_strided", sum_program({DType::f32, Access::strided}, 2, 0b11)});
  programs.push_back({"sum_whole", sum_program({DType::i32, Access::linear}, 1, 0b1)});
  programs.push_back({"sum_rows", sum_program(kLinear, 2, 0b10)});
  programs.push_back({"sum_columns", sum_program(kLinear, 2, 0b01)});
  programs.push_back({"sum_middle", sum_program(kLinear, 3, 0b010)});
  programs.push_back({"sum_ends", sum_program(kLinear, 3, 0b101)});
  programs.push_back({"sum_nothing", sum_program(kLinear, 2, 0b00)});

  // x + 1 stored and summed in the same launch, by 16-byte accesses.
  Program stored = sum_program(kLinear, 2, 0b10);
  stored.scalars = {DType::f32};
  stored.code = {{Op::add, DType::f32, 0, 1, 0}};
  stored.outputs = {Output{2}};
  stored.reduction->value = 2;
  programs.push_back({"sum_stored", stored});

  for (unsigned seed = 0; seed < 24; ++seed) {
    programs.push_back({"random" + std::to_string(seed), random_program(seed)});
  }
  return programs;
}

}  // namespace forebay::test
