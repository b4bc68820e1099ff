#include "compute/host/block_program.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "compute/host/streaming.hpp"
#include "forebay/pool/error.hpp"

namespace forebay::compute::host {
namespace {

constexpr std::size_t kLine = 64;
// Blocks begin where pages do, as large arrays mostly do: a load that follows a store to the same
// place of another page may wait for it.
constexpr std::size_t kPage = 4096;

// Memory that a thread keeps between runs; it grows to what the largest program needs.
struct Scratch {
  struct Free {
    void operator()(std::byte* bytes) const noexcept {
      ::operator delete[](bytes, std::align_val_t{kPage});
    }
  };
  std::unique_ptr<std::byte[], Free> bytes;
  std::size_t size = 0;
  std::vector<std::byte*> values;
  std::vector<Way> ways;

  std::byte* reserve(std::size_t count) {
    if (count > size) {
      bytes.reset();
      size = 0;
      bytes.reset(static_cast<std::byte*>(::operator new[](count, std::align_val_t{kPage})));
      size = count;
    }
    return bytes.get();
  }

  static Scratch& of_thread() {
    thread_local Scratch scratch;
    return scratch;
  }
};

std::size_t block_size(DType type) { return size_of(block_type(type)); }

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
        v < leaves && program.leaves[v].access == Access::linear && !is_narrow(types[v]);
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

BlockRun::BlockRun(const Program& program, const BlockProgram& compiled, const Binding& binding)
    : program_(program),
      compiled_(compiled),
      binding_(binding),
      buffers_(Scratch::of_thread().reserve(compiled.bytes + kBlock * sizeof(std::uint16_t))),
      gathered_(buffers_ + compiled.bytes),
      values_(Scratch::of_thread().values),
      ways_(Scratch::of_thread().ways) {
  const std::size_t leaves = program.leaves.size();
  values_.assign(compiled.place.size(), nullptr);
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (compiled.place[v] != BlockProgram::kNone) values_[v] = buffer_of(v);
  }
  std::uint64_t elements = 1;
  for (const std::int64_t extent : binding.extents) elements *= static_cast<std::uint64_t>(extent);
  const std::size_t most = std::min<std::uint64_t>(elements, kBlock);
  const auto fill_single = [&](std::size_t v, const void* element) {
    fill(v, element, compiled.whole[v] ? most : 1);
  };
  for (std::size_t i = 0; i < leaves; ++i) {
    if (program.leaves[i].access == Access::single) fill_single(i, binding.leaves[i]);
  }
  for (std::size_t i = 0; i < program.scalars.size(); ++i) {
    // The lowest bytes come first.
    fill_single(leaves + i, &binding.scalars[i]);
  }
  ways_.clear();
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    ways_.push_back(way_of(o, elements));
    streams_ |= ways_.back() == Way::streamed;
  }
}

BlockRun::~BlockRun() {
  if (streams_) end_streaming();
}

void BlockRun::fill(std::size_t value, const void* element, std::size_t n) {
  const DType type = compiled_.types[value];
  std::uint64_t bits = 0;
  if (is_narrow(type)) {
    widening_kernel(type)(element, element, element, &bits, 1, 0);
  } else {
    std::memcpy(&bits, element, size_of(type));
  }
  switch (block_size(type)) {
    case 8:
      std::fill_n(reinterpret_cast<std::uint64_t*>(values_[value]), n, bits);
      break;
    case 4:
      std::fill_n(reinterpret_cast<std::uint32_t*>(values_[value]), n,
                  static_cast<std::uint32_t>(bits));
      break;
    default:
      std::memset(values_[value], static_cast<int>(bits & 255U), n);
      break;
  }
}

// A later step may read a leaf whose memory an output overwrites: that output is copied at the end.
// Its lines are in the cache, so that it is not streamed.
Way BlockRun::way_of(std::size_t output, std::uint64_t elements) const noexcept {
  const Value value = program_.outputs[output].value;
  const DType type = compiled_.types[value];
  if (std::find(binding_.leaves.begin(), binding_.leaves.end(), binding_.outputs[output]) !=
      binding_.leaves.end()) {
    return Way::copied;
  }
  // One loop over one array gains nothing: its loads wait for the stores of the block before.
  const bool one_loop = compiled_.steps.size() == 1 && program_.leaves.size() == 1;
  if (!one_loop && elements * size_of(type) >= kStreamedBytes) return Way::streamed;
  const std::size_t inputs = program_.leaves.size() + program_.scalars.size();
  return value >= inputs && !is_narrow(type) ? Way::computed : Way::copied;
}

void BlockRun::block(std::uint64_t index, std::size_t n) {
  for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
    const auto [type, access] = program_.leaves[i];
    if (access == Access::linear && !is_narrow(type)) {
      // Read in place, and never written through: only results are.
      const auto* const leaf = static_cast<const std::byte*>(binding_.leaves[i]);
      values_[i] = const_cast<std::byte*>(leaf) + index * size_of(type);
    } else if (access != Access::single) {
      read_leaf(i, index, n);
    }
  }
  for (std::size_t o = 0; o < ways_.size(); ++o) {
    if (ways_[o] != Way::computed) continue;
    const Value value = program_.outputs[o].value;
    values_[value] =
        static_cast<std::byte*>(binding_.outputs[o]) + index * size_of(compiled_.types[value]);
  }
  for (const BlockProgram::Step& step : compiled_.steps) {
    step.kernel(values_[step.a], values_[step.b], values_[step.c], values_[step.out], n, index);
  }
  for (std::size_t o = 0; o < ways_.size(); ++o) {
    if (ways_[o] != Way::computed) store(o, index, n);
  }
}

void BlockRun::store(std::size_t output, std::uint64_t index, std::size_t n) {
  const Value value = program_.outputs[output].value;
  const DType type = compiled_.types[value];
  const bool streamed = ways_[output] == Way::streamed;
  std::byte* const target =
      static_cast<std::byte*>(binding_.outputs[output]) + index * size_of(type);
  const std::byte* source = values_[value];
  if (is_narrow(type)) {
    std::byte* const narrowed = streamed ? gathered_ : target;
    narrowing_kernel(type)(source, nullptr, nullptr, narrowed, n, 0);
    source = narrowed;
  }
  if (streamed) {
    stream(target, source, n * size_of(type));
  } else if (source != target) {
    std::memcpy(target, source, n * size_of(type));
  }
}

void BlockRun::read_leaf(std::size_t leaf, std::uint64_t index, std::size_t n) {
  const DType type = program_.leaves[leaf].type;
  const auto* source = static_cast<const std::byte*>(binding_.leaves[leaf]);
  if (program_.leaves[leaf].access == Access::linear) {
    source += index * size_of(type);
  } else {
    std::byte* const target = is_narrow(type) ? gathered_ : buffer_of(leaf);
    switch (size_of(type)) {
      case 8:
        source = gather<std::uint64_t>(leaf, target, index, n);
        break;
      case 4:
        source = gather<std::uint32_t>(leaf, target, index, n);
        break;
      case 2:
        source = gather<std::uint16_t>(leaf, target, index, n);
        break;
      default:
        source = gather<std::uint8_t>(leaf, target, index, n);
        break;
    }
  }
  if (is_narrow(type)) {
    values_[leaf] = buffer_of(leaf);
    widening_kernel(type)(source, nullptr, nullptr, values_[leaf], n, 0);
  } else {
    // Never written through: only results are.
    values_[leaf] = const_cast<std::byte*>(source);
  }
}

// Row by row of the last dimension; a block inside one row without gaps is read in place.
template <typename Word>
const std::byte* BlockRun::gather(std::size_t leaf, std::byte* to, std::uint64_t index,
                                  std::size_t n) {
  const Dims& extents = binding_.extents;
  const Dims& strides = binding_.strides[leaf];
  const std::size_t last = extents.size() - 1;
  Dims position = extents;
  std::int64_t offset = 0;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(extents[d]);
    position[d] = static_cast<std::int64_t>(index % extent);
    index /= extent;
    offset += position[d] * strides[d];
  }
  const Word* const base = static_cast<const Word*>(binding_.leaves[leaf]);
  const std::int64_t step = strides[last];
  if (step == 1 && static_cast<std::int64_t>(n) <= extents[last] - position[last]) {
    return reinterpret_cast<const std::byte*>(base + offset);
  }
  Word* target = reinterpret_cast<Word*>(to);
  for (auto left = static_cast<std::int64_t>(n);;) {
    const std::int64_t row = std::min(left, extents[last] - position[last]);
    const Word* const source = base + offset;
    if (step == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(row) * sizeof(Word));
    } else if (step == 0) {
      std::fill_n(target, row, *source);
    } else {
      for (std::int64_t i = 0; i < row; ++i) target[i] = source[i * step];
    }
    target += row;
    left -= row;
    if (left == 0) return to;
    // To the start of the next row.
    offset -= position[last] * step;
    position[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      offset += strides[d];
      if (++position[d] < extents[d]) break;
      offset -= extents[d] * strides[d];
      position[d] = 0;
    }
  }
}

}  // namespace forebay::compute::host
