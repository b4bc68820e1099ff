#include "compute/fusion_limits.hpp"

#include <limits>

namespace forebay::compute {
namespace {

Weight weight_of(const Node& node) noexcept {
  switch (node.kind) {
    case NodeKind::operation:
      return node.weight;
    case NodeKind::constant:
      return {.scalars = 1};
    case NodeKind::storage:
      break;
  }
  return {.leaves = 1, .pinned = node.held_only_by(1) ? node.storage->bytes() : 0};
}

std::string counted(std::uint64_t number, const char* thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

}  // namespace

FusionLimits::FusionLimits(const FusionConfig& config, const Limits& backend, std::size_t capacity)
    : most{.ops = std::min(config.max_ops, backend.max_ops),
           .leaves = std::min(config.max_inputs, backend.max_leaves),
           .scalars = backend.max_scalars,
           .height = config.max_height,
           .outputs = backend.max_outputs,
           .pinned =
               static_cast<std::uint64_t>(config.pinned_fraction * static_cast<double>(capacity))} {
}

const End* exceeded(const Weight& weight, const FusionLimits& limits) noexcept {
  static constexpr End kEnds[] = {
      {&Weight::ops, &FusionEndCounters::max_ops, "operations", "fusion.max_ops"},
      {&Weight::leaves, &FusionEndCounters::max_inputs, "inputs", "fusion.max_inputs"},
      {&Weight::scalars, &FusionEndCounters::max_scalars, "scalars", "the backend's"},
      {&Weight::height, &FusionEndCounters::max_height, "levels", "fusion.max_height"},
  };
  for (const End& end : kEnds) {
    if (weight.*end.measure > limits.most.*end.measure) return &end;
  }
  return nullptr;
}

std::string numbers_of(const End& end, const Weight& weight, const FusionLimits& limits) {
  if (end.bound == nullptr) {
    return std::string(end.text) + ": " + counted(weight.ops, "operation") + ", " +
           counted(weight.leaves, "input") + ", " + counted(weight.scalars, "scalar");
  }
  const bool pinned = end.measure == nullptr;
  const std::uint64_t number = pinned ? weight.pinned : weight.*end.measure;
  const std::uint64_t most = pinned ? limits.most.pinned : limits.most.*end.measure;
  return std::to_string(number) + " " + end.text + ", at most " + std::to_string(most) + " (" +
         end.bound + ")";
}

// Sums cannot overflow: each operand is within the limits, or was weighed exactly.
Weight bound_weight(std::span<const NodeRef> operands) noexcept {
  Weight sum;
  for (const NodeRef& operand : operands) {
    const Weight weight = weight_of(*operand);
    sum.ops += weight.ops;
    sum.leaves += weight.leaves;
    sum.scalars += weight.scalars;
    sum.height = std::max(sum.height, weight.height);
    sum.pinned += weight.pinned;
  }
  ++sum.ops;
  ++sum.height;
  return sum;
}

Weight exact_weight(std::span<const NodeRef> operands, Walk& walk) {
  Weight weight = bound_weight(operands);
  std::vector<Node*> roots;
  for (const NodeRef& operand : operands) roots.push_back(operand.get());
  walk.run(roots, std::numeric_limits<std::size_t>::max());
  weight.ops = static_cast<std::uint32_t>(walk.operations().size()) + 1;
  weight.leaves = static_cast<std::uint32_t>(walk.leaves().size());
  weight.scalars = static_cast<std::uint32_t>(walk.constants().size());
  weight.pinned = 0;
  for (const Node* leaf : walk.leaves()) {
    std::uint32_t uses = leaf->uses;
    for (const Node* root : roots) uses += root == leaf ? 1 : 0;
    if (leaf->held_only_by(uses)) weight.pinned += leaf->storage->bytes();
  }
  return weight;
}

}  // namespace forebay::compute
