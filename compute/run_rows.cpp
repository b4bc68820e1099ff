// Row programs: in one pass where the backend can, else stage by stage.
#include "compute/engine.hpp"

namespace forebay::compute {

NodeRef Engine::run_rows(const RowProgram& program, std::span<const NodeRef> inputs,
                         std::vector<std::uint64_t> scalars, DType type) {
  const std::lock_guard lock(mutex_);
  device_.require_open();
  std::vector<NodeRef> held;
  RowBinding binding{.scalars = std::move(scalars)};
  for (const NodeRef& input : inputs) {
    held.push_back(contiguous(input, kEndConsumer));
    keep(*held.back());
    binding.inputs.push_back(held.back()->address());
  }
  const Dims& shape = held.front()->shape;
  binding.length = shape[shape.size() - 1];
  binding.rows = held.front()->numel / binding.length;
  NodeRef result = uninitialized(shape, type);
  binding.output = result->address();
  const UnderWay under_way(*this);
  if (backend().executors().front()->run_rows(program, binding, device_.default_stream()) ==
      Readiness::done) {
    FusionCounters& counters = device_.counters().fusion;
    count(counters.launches);
    for (const RowStage& stage : program.stages) {
      count(counters.operations, stage.program.code.size());
    }
  } else {
    run_stages(program, binding);
  }
  return result;
}

void Engine::run_stages(const RowProgram& program, const RowBinding& rows) {
  using Kind = RowSource::Kind;
  std::vector<NodeRef> stored(program.stages.size());
  std::vector<NodeRef> reduced(program.stages.size());
  std::size_t scalar = 0;
  for (std::size_t k = 0; k < program.stages.size(); ++k) {
    const RowStage& stage = program.stages[k];
    const Program& one = programs_.get(stage.program);
    Binding binding{.extents = Dims{rows.rows, rows.length}};
    for (const RowSource source : stage.sources) {
      const bool kept = source.kind == Kind::stored || source.kind == Kind::row;
      const NodeRef& node =
          source.kind == Kind::stored ? stored[source.index] : reduced[source.index];
      binding.leaves.push_back(kept ? node->address() : rows.inputs[source.index]);
      binding.strides.push_back(source.kind == Kind::column ? Dims{0, 1}
                                : source.kind == Kind::row  ? Dims{1, 0}
                                                            : Dims());
    }
    for (std::size_t n = 0; n < one.scalars.size(); ++n) {
      binding.scalars.push_back(rows.scalars[scalar++]);
    }
    if (!one.reduction) {
      binding.outputs = {rows.output};
    } else {
      const DType type = one.type_of(one.reduction->value);
      reduced[k] = uninitialized(Dims{rows.rows}, rule_of(one.reduction->op, type).result);
      binding.reduction = reduced[k]->address();
      if (!one.outputs.empty()) {
        stored[k] = uninitialized(binding.extents, one.type_of(one.outputs.front().value));
        binding.outputs = {stored[k]->address()};
      }
    }
    run(one, binding);
  }
}

}  // namespace forebay::compute
