#include "compute/host/block_program.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "forebay/pool/error.hpp"

namespace forebay::compute::host {
namespace {

constexpr std::align_val_t kLine{64};
constexpr std::uint16_t kNone = 0xffff;

// Memory that a thread keeps between runs; it grows to what the largest program needs.
struct Scratch {
  struct Free {
    void operator()(Word* words) const noexcept { ::operator delete[](words, kLine); }
  };
  std::unique_ptr<Word[], Free> words;
  std::size_t size = 0;
  std::vector<Word*> values;
  std::vector<Word*> destinations;

  Word* reserve(std::size_t count) {
    if (count > size) {
      words.reset();
      size = 0;
      words.reset(static_cast<Word*>(::operator new[](count * sizeof(Word), kLine)));
      size = count;
    }
    return words.get();
  }

  static Scratch& of_thread() {
    thread_local Scratch scratch;
    return scratch;
  }
};

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

BlockProgram::BlockProgram(const Program& program) {
  const std::size_t leaves = program.leaves.size();
  const std::size_t first_result = leaves + program.scalars.size();
  buffer.assign(first_result + program.code.size(), kNone);
  for (std::size_t v = 0; v < first_result; ++v) {
    if (v >= leaves || program.leaves[v].access != Access::linear) buffer[v] = buffers++;
  }
  const std::vector<std::size_t> last = last_uses(program, buffer.size());
  std::vector<std::uint16_t> idle;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& instruction = program.code[i];
    const std::size_t out = first_result + i;
    const Value read[] = {instruction.a, instruction.b, instruction.c};
    // A loop may write where it reads, so what ends here is free for the result.
    for (int k = 0; k < operands(instruction.op); ++k) {
      const bool repeated = std::find(read, read + k, read[k]) != read + k;
      if (read[k] >= first_result && last[read[k]] == i && !repeated) {
        idle.push_back(buffer[read[k]]);
      }
    }
    if (idle.empty()) {
      buffer[out] = buffers++;
    } else {
      buffer[out] = idle.back();
      idle.pop_back();
    }
    const Kernel kernel =
        find_kernel(instruction.op, program.type_of(instruction.a), instruction.type);
    if (kernel == nullptr) {
      throw Error(std::string("no operation ") + to_string(instruction.op) + " on " +
                  std::string(forebay::to_string(program.type_of(instruction.a))));
    }
    steps.push_back({kernel, instruction.a, instruction.b, instruction.c, static_cast<Value>(out)});
  }
}

BlockRun::BlockRun(const Program& program, const BlockProgram& compiled, const Binding& binding)
    : program_(program),
      compiled_(compiled),
      binding_(binding),
      buffers_(Scratch::of_thread().reserve(compiled.buffers * kBlock)),
      values_(Scratch::of_thread().values),
      destinations_(Scratch::of_thread().destinations) {
  const std::size_t leaves = program.leaves.size();
  values_.assign(compiled.buffer.size(), nullptr);
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (compiled.buffer[v] != kNone) values_[v] = buffer_of(v);
  }
  std::uint64_t elements = 1;
  for (const std::int64_t extent : binding.extents) elements *= static_cast<std::uint64_t>(extent);
  const std::size_t filled = std::min<std::uint64_t>(elements, kBlock);
  for (std::size_t i = 0; i < leaves; ++i) {
    if (program.leaves[i].access != Access::single) continue;
    std::fill_n(values_[i], filled, *static_cast<const Word*>(binding.leaves[i]));
  }
  for (std::size_t i = 0; i < program.scalars.size(); ++i) {
    std::fill_n(values_[leaves + i], filled, binding.scalars[i]);
  }
  destinations_.assign(program.outputs.size(), nullptr);
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    if (computed_in_place(o)) destinations_[o] = static_cast<Word*>(binding.outputs[o]);
  }
}

// A later step may read a leaf whose memory an output overwrites: that output is copied at the end.
bool BlockRun::computed_in_place(std::size_t output) const noexcept {
  const std::size_t inputs = program_.leaves.size() + program_.scalars.size();
  return program_.outputs[output].value >= inputs &&
         std::find(binding_.leaves.begin(), binding_.leaves.end(), binding_.outputs[output]) ==
             binding_.leaves.end();
}

void BlockRun::block(std::uint64_t index, std::size_t n) {
  for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
    if (program_.leaves[i].access == Access::linear) {
      // Never written through: only results are.
      values_[i] = static_cast<Word*>(const_cast<void*>(binding_.leaves[i])) + index;
    } else if (program_.leaves[i].access == Access::strided) {
      read_strided(i, index, n);
    }
  }
  for (std::size_t o = 0; o < destinations_.size(); ++o) {
    if (destinations_[o] != nullptr) values_[program_.outputs[o].value] = destinations_[o] + index;
  }
  for (const BlockProgram::Step& step : compiled_.steps) {
    step.kernel(values_[step.a], values_[step.b], values_[step.c], values_[step.out], n, index);
  }
  for (std::size_t o = 0; o < destinations_.size(); ++o) {
    if (destinations_[o] != nullptr) continue;
    std::memcpy(static_cast<Word*>(binding_.outputs[o]) + index, values_[program_.outputs[o].value],
                n * sizeof(Word));
  }
}

// Row by row of the last dimension; a block inside one row without gaps is read in place.
void BlockRun::read_strided(std::size_t leaf, std::uint64_t index, std::size_t n) {
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
    values_[leaf] = const_cast<Word*>(base + offset);
    return;
  }
  Word* target = values_[leaf] = buffer_of(leaf);
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
    if (left == 0) return;
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
