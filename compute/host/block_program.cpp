#include "compute/host/block_program.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "forebay/pool/error.hpp"

namespace forebay::compute::host {
namespace {

[[noreturn]] void throw_no_loop(const Instruction& instruction, DType type) {
  throw Error(std::string("no operation ") + to_string(instruction.op) + " on " +
              std::string(forebay::to_string(type)));
}

// Whether a value is one element for the whole space.
bool is_single(const Program& program, std::size_t value) {
  const std::size_t leaves = program.leaves.size();
  return value < leaves ? program.leaves[value].access == Access::single
                        : value < leaves + program.scalars.size();
}

// Whether a value is reduced or stored.
bool is_result(const Program& program, std::size_t value) {
  const auto is_it = [value](const Output& output) { return output.value == value; };
  return (program.reduction && program.reduction->value == value) ||
         std::any_of(program.outputs.begin(), program.outputs.end(), is_it);
}

// How often each value is read: by operations and the reduction, and by all.
struct Reads {
  std::vector<std::uint32_t> computing, all;

  Reads(const Program& program, std::size_t values) : computing(values, 0) {
    for (const Instruction& instruction : program.code) {
      const Value read[] = {instruction.a, instruction.b, instruction.c};
      for (int k = 0; k < operands(instruction.op); ++k) ++computing[read[k]];
    }
    if (program.reduction) ++computing[program.reduction->value];
    all = computing;
    for (const Output& output : program.outputs) ++all[output.value];
    if (program.reduction) ++all[program.reduction->value];
  }
};

bool commutes(Op op) { return op == Op::add || op == Op::mul; }

// The last step that reads each value; outputs and the reduced value are read after all of them.
std::vector<std::size_t> last_uses(const Program& program, std::size_t values) {
  std::vector<std::size_t> last(values, 0);
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& instruction = program.code[i];
    const Value read[] = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < operands(instruction.op); ++k) last[read[k]] = i;
  }
  for (const Output& output : program.outputs) last[output.value] = program.code.size();
  if (program.reduction) last[program.reduction->value] = program.code.size();
  return last;
}

}  // namespace

std::uint32_t BlockProgram::take(std::size_t size) {
  const std::uint32_t at = bytes;
  bytes += static_cast<std::uint32_t>((size + kLine - 1) / kLine * kLine);
  return at;
}

BlockProgram::BlockProgram(const Program& program) {
  const std::size_t leaves = program.leaves.size();
  const std::size_t first_result = leaves + program.scalars.size();
  const std::size_t values = first_result + program.code.size();
  for (std::size_t v = 0; v < values; ++v) {
    types.push_back(program.type_of(static_cast<Value>(v)));
    whole.push_back(!is_single(program, v));
  }
  for (const Output& output : program.outputs) whole[output.value] = true;
  if (program.reduction) whole[program.reduction->value] = true;
  const Reads reads(program, values);
  bool pairs = false;  // whether the last step may become one of a pair
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const auto out = static_cast<Value>(first_result + i);
    if (pairs && reads.all[out - 1] == 1 && pair_with_last(program, i, out)) {
      pairs = false;
    } else {
      add_steps(program, program.code[i], out, reads.computing[out] != 0);
      pairs = true;
    }
  }
  place.assign(values, kNone);
  for (std::size_t v = 0; v < first_result; ++v) {
    const bool in_place =
        v < leaves && program.leaves[v].access == Access::linear &&
        (is_as_in_memory(types[v]) || (types[v] == DType::boolean && !is_result(program, v)));
    if (!in_place && whole[v]) place[v] = take(block_size(types[v]) * kBlock);
  }
  const std::vector<std::size_t> last = last_uses(program, values);
  std::vector<std::pair<std::size_t, std::uint32_t>> idle;  // size of an element, place
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& instruction = program.code[i];
    const std::size_t out = first_result + i;
    const Value read[] = {instruction.a, instruction.b, instruction.c};
    // A loop may write where it reads elements of the same size, so what ends here is free for the
    // result.
    for (int k = 0; k < operands(instruction.op); ++k) {
      const bool repeated = std::find(read, read + k, read[k]) != read + k;
      if (read[k] >= first_result && last[read[k]] == i && !repeated) {
        idle.emplace_back(block_size(types[read[k]]), place[read[k]]);
      }
    }
    const std::size_t size = block_size(types[out]);
    const auto fits = [size](const auto& buffer) { return buffer.first == size; };
    const auto found = std::find_if(idle.rbegin(), idle.rend(), fits);
    if (found == idle.rend()) {
      place[out] = take(size * kBlock);
    } else {
      place[out] = found->second;
      idle.erase(std::next(found).base());
    }
  }
  for (std::size_t v = 0; v < first_result; ++v) {
    if (!whole[v]) place[v] = take(block_size(types[v]));
  }
}

void BlockProgram::add_steps(const Program& program, const Instruction& instruction, Value out,
                             bool is_read) {
  const auto [op, result, a, b, c] = instruction;
  steps.push_back({kernel_of(program, instruction), a, b, c, out});
  // What is only stored is rounded when it is narrowed.
  if (is_narrow(result) && !is_exact(op) && is_read) {
    steps.push_back({rounding_kernel(result), out, out, out, out});
  }
}

// The instruction before and this one, which alone reads its result, as one step. Blocks are enough
// for both: what the first one read is not overwritten before the second one writes, at most in the
// same place.
bool BlockProgram::pair_with_last(const Program& program, std::size_t index, Value out) {
  Instruction first = program.code[index - 1];
  Instruction second = program.code[index];
  const PairLoop* const pair = find_pair(first.op, second.op, second.type);
  if (pair == nullptr || types[first.a] != second.type || first.type != second.type) return false;
  if (is_single(program, first.a) && commutes(first.op)) std::swap(first.a, first.b);
  if (second.a != out - 1 && commutes(second.op)) std::swap(second.a, second.b);
  if (second.a != out - 1 || is_single(program, first.a)) return false;
  const Kernel kernel =
      pair->kernels[is_single(program, first.b) ? 1 : 0][is_single(program, second.b) ? 1 : 0];
  steps.back() = {kernel, first.a, first.b, second.b, out};
  return true;
}

// The loop for the operands as they are: of those that are one element for all, a loop takes one as
// such at most, and needs blocks of the others.
Kernel BlockProgram::kernel_of(const Program& program, const Instruction& instruction) {
  const auto [op, result, a, b, c] = instruction;
  const DType from = types[a];
  if (kind_of(op) == OpKind::cast && is_narrow(result)) {
    whole[a] = true;
    return odd_kernel(block_type(from));
  }
  const Loop* const loop = find_loop(op, block_type(from), block_type(result));
  if (loop == nullptr) throw_no_loop(instruction, from);
  if (loop->once_second != nullptr && is_single(program, b)) {
    whole[a] = true;
    return loop->once_second;
  }
  if (loop->once_first != nullptr && is_single(program, a)) return loop->once_first;
  const Value read[] = {a, b, c};
  for (int k = 0; k < operands(op); ++k) whole[read[k]] = true;
  return loop->kernel;
}

}  // namespace forebay::compute::host
