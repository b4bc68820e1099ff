// A walk over an expression: its operations with operands first, its leaves and constants, and how
// often each node is used inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "compute/node.hpp"

namespace forebay::compute {

/// Walks without recursion, each node once. The lists live until the next walk; so do the nodes'
/// `uses` (edges from operations of this walk) and `slot` (position in the node's list).
/// Thread safety: none; all walks over nodes of one device are made by one Walk.
class Walk {
 public:
  /// False once more than `max_ops` operations were seen; the lists are then not complete.
  bool run(std::span<Node* const> roots, std::size_t max_ops);

  [[nodiscard]] const std::vector<Node*>& operations() const noexcept { return operations_; }
  [[nodiscard]] const std::vector<Node*>& leaves() const noexcept { return leaves_; }
  [[nodiscard]] const std::vector<Node*>& constants() const noexcept { return constants_; }
  /// Whether the latest walk came to it.
  [[nodiscard]] bool contains(const Node& node) const noexcept { return node.mark == epoch_; }

 private:
  void enter(Node* node);

  std::uint64_t epoch_ = 0;
  std::size_t seen_ = 0;
  std::vector<std::pair<Node*, std::uint32_t>> open_;  // an operation and its next operand
  std::vector<Node*> operations_, leaves_, constants_;
};

}  // namespace forebay::compute
