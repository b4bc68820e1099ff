#include "compute/lower.hpp"

#include <algorithm>

#include "compute/strides.hpp"

namespace forebay::compute {

bool Lowering::run(const LowerRequest& request, const FusionLimits& limits, Walk& walk) {
  if (!walk.run(request.roots, limits.most.ops)) return false;
  if (!add_leaves(walk, request.roots.front()->shape, limits) || !add_constants(walk, limits))
    return false;
  set_space(request);
  program.code.clear();
  for (const Node* node : walk.operations()) {
    Instruction instruction{.op = node->op, .type = node->type};
    Value* const values[] = {&instruction.a, &instruction.b, &instruction.c};
    const std::span<const NodeRef> inputs = node->inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) *values[i] = value_of(*inputs[i]);
    program.code.push_back(instruction);
  }
  add_outputs(request, limits, walk);
  return true;
}

// Leaves with the same elements are one; another library's memory may hold leaves of several types.
// REQUIRES: all have the shape of the space.
bool Lowering::add_leaves(const Walk& walk, const Dims& space, const FusionLimits& limits) {
  program.leaves.clear();
  binding.reduction = nullptr;
  binding.mailbox = nullptr;
  binding.ticket = 0;
  binding.leaves.clear();
  binding.strides.clear();
  for (Node* const node : walk.leaves()) {
    const void* const address = node->address();
    // A constant keeps its own shape in an expression. Where somebody has evaluated it since, its
    // elements are all the same, and the first one stands for them.
    const bool was_constant = node->shape != space;
    const bool linear = node->contiguous && !was_constant;
    Dims strides;
    if (was_constant) {
      for (std::size_t d = 0; d < space.size(); ++d) strides.push_back(0);
    } else if (!linear) {
      strides = node->strides;
    }
    std::size_t i = 0;
    while (i < binding.leaves.size() &&
           (binding.leaves[i] != address || program.leaves[i].type != node->type ||
            !(binding.strides[i] == strides))) {
      ++i;
    }
    node->slot = static_cast<std::uint32_t>(i);
    if (i != binding.leaves.size()) continue;
    if (i == limits.most.leaves) return false;
    binding.leaves.push_back(address);
    binding.strides.push_back(strides);
    program.leaves.push_back({node->type, linear ? Access::linear : Access::strided});
  }
  return true;
}

bool Lowering::add_constants(const Walk& walk, const FusionLimits& limits) {
  program.scalars.clear();
  binding.scalars.clear();
  for (Node* const node : walk.constants()) {
    std::size_t i = 0;
    while (i < binding.scalars.size() &&
           (binding.scalars[i] != node->bits || program.scalars[i] != node->type)) {
      ++i;
    }
    node->slot = static_cast<std::uint32_t>(i);
    if (i != binding.scalars.size()) continue;
    if (i == limits.most.scalars) return false;
    binding.scalars.push_back(node->bits);
    program.scalars.push_back(node->type);
  }
  return true;
}

void Lowering::set_space(const LowerRequest& request) {
  const Node& root = *request.roots.front();
  strided_.clear();
  for (std::size_t i = 0; i < program.leaves.size(); ++i) {
    if (program.leaves[i].access == Access::strided) strided_.push_back(binding.strides[i]);
  }
  program.reduced_dims = 0;
  if (strided_.empty() && !request.reduce) {
    binding.extents = Dims{root.numel};
  } else {
    const Collapsed space = collapse(root.shape, request.reduced_dims, strided_);
    binding.extents = space.extents;
    program.reduced_dims = space.reduced_dims;
  }
  program.rank = static_cast<std::uint8_t>(binding.extents.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.leaves.size(); ++i) {
    if (program.leaves[i].access != Access::strided) continue;
    const Dims& strides = strided_[next++];
    if (std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; })) {
      program.leaves[i].access = Access::single;
      binding.strides[i] = Dims();
    } else {
      binding.strides[i] = strides;
    }
  }
}

Value Lowering::value_of(const Node& node) const noexcept {
  std::size_t first = 0;
  if (!node.is(NodeKind::storage)) first += program.leaves.size();
  if (node.is(NodeKind::operation)) first += program.scalars.size();
  return static_cast<Value>(first + node.slot);
}

bool Lowering::is_stored(const Node* node) const noexcept {
  return std::find(stored.begin(), stored.end(), node) != stored.end();
}

void Lowering::store(Node* node) {
  if (is_stored(node)) return;
  program.outputs.push_back({value_of(*node)});
  stored.push_back(node);
}

void Lowering::add_outputs(const LowerRequest& request, const FusionLimits& limits,
                           const Walk& walk) {
  program.outputs.clear();
  stored.clear();
  program.reduction.reset();
  if (request.reduce) {
    Node& root = *request.roots.front();
    program.reduction = Reduction{*request.reduce, value_of(root)};
    root.uses += request.own_references;
  } else {
    for (Node* const root : request.roots) store(root);
  }
  last_reader = true;
  held = 0;
  const std::vector<Node*>& operations = walk.operations();
  for (std::size_t i = operations.size(); i-- > 0;) {
    if (operations[i]->owners() <= operations[i]->uses) continue;
    if (stored.size() < limits.most.outputs) {
      store(operations[i]);
    } else if (!is_stored(operations[i])) {
      last_reader = false;
      ++held;
    }
  }
  held += static_cast<std::uint32_t>(stored.size());
}

}  // namespace forebay::compute
