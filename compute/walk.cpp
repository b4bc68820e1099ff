#include "compute/walk.hpp"

namespace forebay::compute {

bool Walk::run(std::span<Node* const> roots, std::size_t max_ops) {
  ++epoch_;
  seen_ = 0;
  open_.clear();
  operations_.clear();
  leaves_.clear();
  constants_.clear();
  for (Node* const root : roots) {
    enter(root);
    while (!open_.empty()) {
      if (seen_ > max_ops) return false;
      auto& [node, next] = open_.back();
      const std::span<const NodeRef> inputs = node->inputs();
      if (next == inputs.size()) {
        node->slot = static_cast<std::uint32_t>(operations_.size());
        operations_.push_back(node);
        open_.pop_back();
        continue;
      }
      Node* const input = inputs[next++].get();
      enter(input);
      ++input->uses;
    }
  }
  return seen_ <= max_ops;
}

void Walk::enter(Node* node) {
  if (node->mark == epoch_) return;
  node->mark = epoch_;
  node->uses = 0;
  if (node->is(NodeKind::operation)) {
    ++seen_;
    open_.emplace_back(node, 0);
    return;
  }
  std::vector<Node*>& list = node->is(NodeKind::storage) ? leaves_ : constants_;
  node->slot = static_cast<std::uint32_t>(list.size());
  list.push_back(node);
}

}  // namespace forebay::compute
