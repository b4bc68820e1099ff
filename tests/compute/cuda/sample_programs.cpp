#include "tests/compute/cuda/sample_programs.hpp"

#include <algorithm>
#include <random>

#include "compute/cuda/kernel_arguments.hpp"
#include "compute/cuda/tile_plan.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/compute/cuda/sample_rows.hpp"

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

std::vector<NamedProgram> operation_programs(Access access) {
  constexpr std::size_t kResults = 24;
  std::vector<NamedProgram> programs;
  for (const DType type : testing::kAllTypes) {
    Program program;
    const auto begin = [&] {
      program = Program();
      program.rank = access == Access::linear ? 1 : 3;
      program.leaves.assign(3, {type, access});
      program.leaves.push_back({DType::boolean, access});
    };
    const auto finish = [&] {
      programs.push_back({"operations_" + std::string(access == Access::linear ? "" : "strided_") +
                              std::string(to_string(type)) + "_" + std::to_string(programs.size()),
                          program});
      begin();
    };
    begin();
    for (int number = 0; number < compute::kOpCount; ++number) {
      const auto op = static_cast<Op>(number);
      if (!has_type(op, type)) continue;
      const auto value = static_cast<Value>(program.leaves.size() + program.code.size());
      if (op == Op::select) {
        program.code.push_back({op, type, 3, 1, 2});
      } else {
        program.code.push_back({op, result_type(op, type), 0, 1, 2});
      }
      program.outputs.push_back({value});
      if (program.outputs.size() == kResults) finish();
    }
    if (!program.code.empty()) finish();
  }
  return programs;
}

Program type_program(Access access) {
  Program program;
  program.rank = access == Access::linear ? 1 : 3;
  for (const DType type : testing::kAllTypes) program.leaves.push_back({type, access});
  for (const DType type : testing::kAllTypes) program.scalars.push_back(type);
  for (Value k = 0; k < 8; ++k) {
    const DType type = testing::kAllTypes[k];
    program.code.push_back({Op::add, type, k, static_cast<Value>(8 + k), 0});
    program.outputs.push_back({static_cast<Value>(16 + k)});
  }
  return program;
}

Program wide_program(const compute::Limits& parts, Access access, bool reduced, DType type) {
  Program program;
  program.rank = access == Access::linear && !reduced ? 1 : kMaxRank;
  program.leaves.assign(parts.max_leaves, {type, access});
  // A chain that reads every input.
  const std::size_t operations = parts.max_ops;
  program.scalars.assign(parts.max_scalars, type);
  const std::size_t inputs = program.leaves.size() + program.scalars.size();
  for (std::size_t k = 0; k < operations; ++k) {
    const auto last = static_cast<Value>(k == 0 ? 0 : inputs + k - 1);
    program.code.push_back(
        {k % 2 == 0 ? Op::add : Op::max, type, last, static_cast<Value>(k % inputs), 0});
  }
  const std::size_t values = program.leaves.size() + program.scalars.size() + operations;
  for (std::size_t k = 0; k < parts.max_outputs; ++k) {
    program.outputs.push_back({static_cast<Value>(values - 1 - k)});
  }
  if (reduced) {
    program.reduction = Reduction{ReduceOp::mean, static_cast<Value>(values - 1)};
    program.reduced_dims = 0b01010101;
  }
  return program;
}

Program widest_program(bool reduced, DType type) {
  return wide_program(cuda::kLimits, Access::strided, reduced, type);
}

std::vector<NamedProgram> limit_programs() {
  std::vector<NamedProgram> programs;
  compute::Limits below = cuda::kLimits;
  --below.max_leaves;
  --below.max_scalars;
  --below.max_ops;
  for (const Access access : {Access::linear, Access::strided}) {
    const std::string how = access == Access::linear ? "linear" : "strided";
    programs.push_back({"at_" + how, wide_program(cuda::kLimits, access, false, DType::f32)});
    programs.push_back({"below_" + how, wide_program(below, access, false, DType::f32)});
  }
  return programs;
}

namespace {

bool is_light(Op op, DType type) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::equal:
    case Op::greater:
    case Op::neg:
    case Op::relu:
      return type != DType::boolean;
    case Op::to_f32:
    case Op::to_i32:
    case Op::select:
      return true;
    default:
      return false;
  }
}

/// Of at most `most` operations; 0: of few, or now and then of many.
Program draw_program(unsigned seed, bool words, std::size_t most) {
  std::mt19937 source(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(source() % n); };
  // Few types each, so that operands of one type are found.
  DType types[] = {testing::kAllTypes[below(8)], testing::kAllTypes[below(8)], DType::f32};
  if (words) types[0] = types[1] = DType::i32;
  const auto type = [&] { return types[below(3)]; };
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

  const std::size_t operations = most != 0       ? 1 + below(most)
                                 : below(4) == 0 ? 30 + below(40)
                                                 : below(10);
  std::size_t values = leaves + scalars;
  for (std::size_t tries = 0; program.code.size() < operations && tries < 5000; ++tries) {
    const auto op = static_cast<Op>(below(compute::kOpCount));
    const auto pick = [&] { return static_cast<Value>(below(values)); };
    const Instruction drawn{op, DType::f32, pick(), pick(), pick()};
    const DType a = program.type_of(drawn.a);
    const DType b = program.type_of(drawn.b);
    const DType c = program.type_of(drawn.c);
    const bool choice = op == Op::select;
    if (choice ? a != DType::boolean || b != c : !has_type(op, a)) continue;
    if (!choice && compute::operands(op) >= 2 && a != b) continue;
    if (!choice && compute::operands(op) == 3 && a != c) continue;
    if (words && !is_light(op, a)) continue;
    program.code.push_back(drawn);
    program.code.back().type = result_type(op, choice ? b : a);
    ++values;
  }
  const std::size_t outputs = below(4);
  for (std::size_t k = 0; k < outputs; ++k) {
    const Output drawn{static_cast<Value>(values - 1 - below(std::min<std::size_t>(values, 4)))};
    const auto& known = program.outputs;
    if (std::find(known.begin(), known.end(), drawn) == known.end()) {
      program.outputs.push_back(drawn);
    }
  }
  if (program.outputs.empty() || below(2) == 0) {
    const auto value = static_cast<Value>(values - 1);
    auto op = static_cast<ReduceOp>(below(7));
    if (words || !has_type(op, program.type_of(value))) op = ReduceOp::sum;
    program.reduction = Reduction{op, value};
    if (!strided) program.rank = static_cast<std::uint8_t>(1 + below(3));
    program.reduced_dims = static_cast<std::uint8_t>(below(std::size_t{1} << program.rank));
  }
  return program;
}

}  // namespace

Program random_program(unsigned seed) { return draw_program(seed, false, 0); }

Program random_word_program(unsigned seed) { return draw_program(seed, true, 0); }

Program long_random_program(unsigned seed) { return draw_program(seed, false, 200); }

Program sum_program(Leaf leaf, std::uint8_t rank, std::uint8_t reduced_dims) {
  Program program;
  program.leaves = {leaf};
  program.rank = rank;
  program.reduction = Reduction{ReduceOp::sum, 0};
  program.reduced_dims = reduced_dims;
  return program;
}

std::vector<NamedProgram> reduction_programs() {
  std::vector<NamedProgram> programs;
  for (const DType type : testing::kAllTypes) {
    for (int number = 0; number < 7; ++number) {
      const auto op = static_cast<ReduceOp>(number);
      if (!has_type(op, type)) continue;
      // Along rows by vectors, across rows, and of a whole: one form for each, in turn.
      const int form = (number + static_cast<int>(type)) % 3;
      Program program = sum_program({type, Access::linear}, form == 0 ? 1 : 2,
                                    form == 1   ? 0b01
                                    : form == 0 ? 0b1
                                                : 0b10);
      program.reduction->op = op;
      programs.push_back(
          {std::string(to_string(op)) + "_of_" + std::string(to_string(type)), program});
    }
  }
  return programs;
}

std::vector<NamedProgram> sample_programs() {
  std::vector<NamedProgram> programs = operation_programs(Access::linear);
  programs.push_back({"types_linear", type_program(Access::linear)});
  programs.push_back({"types_strided", type_program(Access::strided)});
  for (NamedProgram& named : reduction_programs()) programs.push_back(std::move(named));
  programs.push_back({"widest_map", widest_program(false)});
  programs.push_back({"widest_reduction", widest_program(true)});
  programs.push_back({"widest_words_map", widest_program(false, DType::f32)});
  programs.push_back(
      {"widest_linear_map", wide_program(cuda::kLimits, Access::linear, false, DType::f32)});
  programs.push_back({"widest_words_reduction", widest_program(true, DType::f32)});

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

  // A leaf that may be a broadcast row or column, part of a wider array, or turned.
  Program shifted;
  shifted.rank = 3;
  shifted.leaves = {kLinear, {DType::f32, Access::strided}};
  shifted.code = {{Op::sub, DType::f32, 0, 1, 0}};
  shifted.outputs = {Output{2}};
  programs.push_back({"shifted", shifted});
  shifted.rank = 2;
  shifted.reduction = compute::Reduction{compute::ReduceOp::sum, 2};
  shifted.reduced_dims = 0b10;
  programs.push_back({"shifted_row_sums", shifted});

  // Of bytes, so that indices beyond 2^31 are cheap.
  Program wide;
  wide.leaves = {{DType::u8, Access::linear}};
  wide.code = {{Op::add, DType::u8, 0, 0, 0}};
  wide.outputs = {Output{1}};
  programs.push_back({"wide_bytes", wide});
  wide.leaves = {{DType::u8, Access::strided}};
  wide.rank = 4;
  programs.push_back({"wide_views", wide});

  // The greater and the less of two negations, which an assembler got wrong.
  Program negated;
  negated.leaves.assign(2, {DType::i32, Access::linear});
  negated.code = {{Op::neg, DType::i32, 0, 0, 0},
                  {Op::neg, DType::i32, 1, 0, 0},
                  {Op::max, DType::i32, 2, 3, 0},
                  {Op::min, DType::i32, 2, 3, 0}};
  negated.outputs = {Output{4}, Output{5}};
  programs.push_back({"negated", negated});

  for (const NamedRows& rows : sample_rows()) {
    for (std::size_t k = 0; k < rows.program.stages.size(); ++k) {
      programs.push_back(
          {rows.name + "_stage" + std::to_string(k), rows.program.stages[k].program});
    }
  }

  for (unsigned seed = 0; seed < 40; ++seed) {
    programs.push_back({"random" + std::to_string(seed), random_program(seed)});
  }
  for (unsigned seed = 0; seed < 20; ++seed) {
    programs.push_back({"random_words" + std::to_string(seed), random_word_program(seed)});
  }

  // Every type across the outputs, beside a leaf that the sum may be written over; in high ranks.
  unsigned rank = 2;
  for (const DType type : testing::kAllTypes) {
    Program turned;
    turned.leaves = {{type, Access::strided}, {type, Access::linear}};
    turned.code = {{Op::add, type, 0, 1, 0}};
    turned.outputs = {Output{0}, Output{2}};
    turned.rank = static_cast<std::uint8_t>(rank);
    programs.push_back({"turned_" + std::string(to_string(type)), turned});
    rank = rank == 2 ? 3 : rank == 3 ? 5 : rank == 5 ? 8 : 2;
  }
  // So long that its rows are taken one after the other.
  for (const DType type : {DType::f64, DType::u8}) {
    Program turned;
    turned.leaves = {{type, Access::strided}, {type, Access::linear}};
    for (compute::Value k = 1; k <= 5; ++k) turned.code.push_back({Op::floor_div, type, k, 0, 0});
    turned.outputs = {Output{0}, Output{6}};
    turned.rank = 2;
    programs.push_back({"turned_long_" + std::string(to_string(type)), turned});
  }
  return programs;
}

std::vector<Dims> tiled_extents(unsigned rank) {
  switch (rank) {
    case 2:
      return {{64, 64}, {130, 17}, {40, 100}, {130, 36}, {150, 140}};
    case 3:
      return {{3, 128, 16}, {40, 2, 52}, {2, 70, 131}};
    case 4:
      return {{2, 110, 3, 20}, {33, 2, 2, 64}};
    case 5:
      return {{2, 50, 2, 2, 41}};
    case 8:
      return {{2, 1, 2, 34, 2, 1, 2, 61}};
    default:
      return {};
  }
}

std::uint32_t staged_sample(const compute::Program& program) {
  std::uint32_t strided = 0;
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if (program.leaves[k].access == compute::Access::strided) strided |= 1U << k;
  }
  return cuda::staged(program, strided);
}

}  // namespace forebay::test
