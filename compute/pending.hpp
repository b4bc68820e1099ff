// What has no memory yet on one device: every operation that is to be done, so that writing in
// place finds those that still read what was there before, and every constant. A capture begins and
// ends by giving memory to those of them that somebody holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compute/node.hpp"
#include "compute/walk.hpp"

namespace forebay::compute {

/// Addresses from `begin` to `end`, the first one behind.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// From the first byte of the node's elements to the last. REQUIRES: storage.
[[nodiscard]] Extent extent_of(const Node& node) noexcept;
[[nodiscard]] inline bool overlap(const Extent& a, const Extent& b) noexcept {
  return a.begin < b.end && b.begin < a.end;
}
/// In the order of addresses, and apart.
void merge(std::vector<Extent>& extents);

/// What is about to be written.
struct Writes {
  std::span<const Extent> extents;  ///< merged
  /// All memory of a graph as well, by the number of its capture; 0 for none.
  std::uint64_t capture = 0;

  /// Whether an operation on `operand` reads it, or would.
  [[nodiscard]] bool touch(const Node& operand) const noexcept;
};

/// Two lists through the nodes themselves, of operations and of constants, older ones first, so
/// that operations come before what is computed of them. Adding and taking away costs a few stores.
///
/// Thread safety: the engine's mutex guards it, but for `bury`. Tensors go without that mutex, so a
/// node that loses its last owner is buried: it stays in the list, without operands, until the next
/// call that has the mutex.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// REQUIRES: no storage, and nobody else has it yet.
  void add(Node& node) noexcept;
  /// If it is there: it is done.
  void remove(Node& node) noexcept;
  /// Whatever outlives the engine is in no list.
  void clear() noexcept;
  /// Nodes without owners, a chain by `next_dropped_`. Any thread.
  void bury(Node* first) noexcept;
  /// Frees what was buried.
  void collect() noexcept {
    if (buried_.load(std::memory_order_relaxed) != nullptr) free_buried();
  }
  /// How many operations are there.
  [[nodiscard]] std::size_t size() noexcept {
    collect();
    return operations_.size;
  }

  /// What has to be evaluated so that nothing outside of the expression that `inside` walked last
  /// reads the memory any more: of each expression the lowest values that somebody holds. Costs a
  /// pass over all that is pending.
  [[nodiscard]] std::vector<NodeRef> readers(const Writes& writes, const Walk* inside);
  /// Everything that is owned by more than what is pending, constants first. Costs a pass, too.
  [[nodiscard]] std::vector<NodeRef> held();

 private:
  struct List {
    Node* oldest = nullptr;
    Node* newest = nullptr;
    std::size_t size = 0;
  };
  [[nodiscard]] List& list_of(const Node& node) noexcept {
    return node.constant_ ? constants_ : operations_;
  }
  void free_buried() noexcept;
  void unlink(Node& node) noexcept;
  /// Appends those of a list that have an owner, and counts anew what uses them.
  static void take_live(const List& list, std::vector<NodeRef>& live);

  List operations_;
  List constants_;
  std::atomic<Node*> buried_{nullptr};
};

}  // namespace forebay::compute
