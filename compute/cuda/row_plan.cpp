#include "compute/cuda/row_plan.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

#include "compute/cuda/program_text.hpp"

namespace forebay::cuda {

using compute::Program;
using compute::RowBinding;
using compute::RowProgram;
using compute::RowSource;
using compute::RowStage;
using Kind = compute::RowSource::Kind;

std::vector<RowInput> row_inputs(const RowProgram& program) {
  std::vector<RowInput> inputs;
  for (const RowStage& stage : program.stages) {
    for (std::size_t k = 0; k < stage.sources.size(); ++k) {
      const RowSource source = stage.sources[k];
      if (source.kind != Kind::input && source.kind != Kind::column) continue;
      if (inputs.size() <= source.index) inputs.resize(source.index + 1U);
      inputs[source.index] = {stage.program.leaves[k].type, source.kind == Kind::column};
    }
  }
  return inputs;
}

DType row_output(const RowProgram& program) {
  const Program& last = program.stages.back().program;
  return last.type_of(last.outputs.front().value);
}

unsigned row_run(const RowProgram& program) {
  const Program& first = program.stages.front().program;
  const std::size_t bytes = size_of(first.type_of(first.reduction->value));
  return std::min(16U / static_cast<unsigned>(bytes), kStepElements);
}

unsigned rows_of_thread(unsigned steps) { return steps == 1 ? 2 : 1; }

unsigned blocks_of_rows(const ReducePlan& plan, unsigned steps) {
  return static_cast<unsigned>((plan.tiles + rows_of_thread(steps) - 1) / rows_of_thread(steps));
}

namespace {

// What RowArguments puts, every scalar priced as eight bytes: addresses, two counts, three words
// and what fills up the last eight bytes.
std::size_t argument_bytes(const RowBinding& binding) {
  return 8 * (binding.inputs.size() + 1 + 2 + 2 + binding.scalars.size());
}

}  // namespace

std::optional<RowLaunch> plan_rows(const RowProgram& program, const RowBinding& binding) {
  if (argument_bytes(binding) > kRowArgumentBytes) return std::nullopt;
  RowLaunch launch;
  launch.plan = plan_reduction(Dims{binding.rows, binding.length}, 0b10);
  const ReducePlan& plan = launch.plan;
  const std::int64_t steps = plan.chunk / (std::int64_t{kStepElements} << plan.group_log2);
  if (plan.splits != 1 || steps > kMostRowSteps ||
      plan.tiles > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  launch.steps = std::bit_ceil(static_cast<unsigned>(steps));
  launch.blocks = blocks_of_rows(plan, launch.steps);
  launch.threads = plan.threads();
  const KernelShape shape{.elements = kStepElements, .passes = 1, .run = row_run(program)};
  const auto aligned = [&](const void* address, DType type) {
    const std::size_t access = elements_of_access(shape, type) * size_of(type);
    return reinterpret_cast<std::uintptr_t>(address) % access == 0;
  };
  launch.vector = binding.length % shape.run == 0 && aligned(binding.output, row_output(program));
  const std::vector<RowInput> inputs = row_inputs(program);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    launch.vector = launch.vector && aligned(binding.inputs[k], inputs[k].type);
  }
  return launch;
}

template <typename T>
void RowArguments::put(T value) {
  assert(size_ + sizeof(T) <= bytes_.size());
  std::memcpy(bytes_.data() + size_, &value, sizeof(T));
  size_ += sizeof(T);
}

RowArguments::RowArguments(const RowProgram& program, const RowBinding& binding,
                           const RowLaunch& launch) {
  for (const void* const input : binding.inputs) put(input);
  put(binding.output);
  put(launch.plan.kept);
  put(launch.plan.reduced);
  for (const std::size_t size : {8U, 4U}) {
    if (size == 4) {
      put(launch.plan.group_log2);
      put(launch.plan.columns_log2);
      put(std::uint32_t{launch.vector});
    }
    std::size_t k = 0;
    for (const RowStage& stage : program.stages) {
      for (const DType type : stage.program.scalars) {
        const std::uint64_t bits = binding.scalars[k++];
        if (size_of(type) != size) continue;
        if (size == 8) {
          put(bits);
        } else {
          put(static_cast<std::uint32_t>(bits));
        }
      }
    }
  }
  // The structure's size is a multiple of its alignment.
  if (size_ % 8 != 0) put(std::uint32_t{0});
}

}  // namespace forebay::cuda
