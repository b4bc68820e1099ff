#include "compute/pending.hpp"

#include <algorithm>
#include <utility>

namespace forebay::compute {

Extent extent_of(const Node& node) noexcept {
  if (node.numel == 0) return {};
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::size_t d = 0; d < node.shape.size(); ++d) {
    const std::int64_t reach = (node.shape[d] - 1) * node.strides[d];
    (reach < 0 ? first : last) += reach;
  }
  const auto bytes = static_cast<std::int64_t>(size_of(node.type));
  const auto address = reinterpret_cast<std::uintptr_t>(node.address());
  return {address + static_cast<std::uintptr_t>(first * bytes),
          address + static_cast<std::uintptr_t>((last + 1) * bytes)};
}

void merge(std::vector<Extent>& extents) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  std::size_t count = 0;
  for (const Extent& extent : extents) {
    if (extent.begin == extent.end) continue;
    if (count != 0 && extent.begin <= extents[count - 1].end) {
      extents[count - 1].end = std::max(extents[count - 1].end, extent.end);
    } else {
      extents[count++] = extent;
    }
  }
  extents.resize(count);
}

bool Writes::touch(const Node& operand) const noexcept {
  switch (operand.kind) {
    case NodeKind::operation:
      return false;
    case NodeKind::constant:
      // Once it is looked at again it is a view of that storage.
      return operand.base() && operand.base()->is(NodeKind::storage) && touch(*operand.base());
    case NodeKind::storage:
      break;
  }
  if (capture != 0 && operand.storage->capture == capture) return true;
  const Extent extent = extent_of(operand);
  const auto next =
      std::partition_point(extents.begin(), extents.end(),
                           [&](const Extent& written) { return written.end <= extent.begin; });
  return next != extents.end() && overlap(*next, extent);
}

void Pending::clear() noexcept {
  collect();
  for (const List* const list : {&operations_, &constants_}) {
    while (list->oldest != nullptr) unlink(*list->oldest);
  }
}

void Pending::add(Node& node) noexcept {
  collect();
  node.constant_ = node.is(NodeKind::constant);
  List& list = list_of(node);
  node.older_ = list.newest;
  node.newer_ = nullptr;
  (list.newest != nullptr ? list.newest->newer_ : list.oldest) = &node;
  list.newest = &node;
  ++list.size;
  node.pending_.store(true, std::memory_order_relaxed);
}

void Pending::remove(Node& node) noexcept {
  if (node.pending_.load(std::memory_order_relaxed)) unlink(node);
}

void Pending::unlink(Node& node) noexcept {
  List& list = list_of(node);
  (node.older_ != nullptr ? node.older_->newer_ : list.oldest) = node.newer_;
  (node.newer_ != nullptr ? node.newer_->older_ : list.newest) = node.older_;
  --list.size;
  node.pending_.store(false, std::memory_order_release);
}

void Pending::bury(Node* first) noexcept {
  Node* last = first;
  while (last->next_dropped_ != nullptr) last = last->next_dropped_;
  last->next_dropped_ = buried_.load(std::memory_order_relaxed);
  while (!buried_.compare_exchange_weak(last->next_dropped_, first, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

void Pending::free_buried() noexcept {
  Node* node = buried_.exchange(nullptr, std::memory_order_acquire);
  while (node != nullptr) {
    Node* const dead = node;
    node = dead->next_dropped_;
    remove(*dead);
    delete dead;
  }
}

// Each is held, so that its operands stay. A node without owners has none left.
void Pending::take_live(const List& list, std::vector<NodeRef>& live) {
  live.reserve(live.size() + list.size);
  for (Node* node = list.oldest; node != nullptr; node = node->newer_) {
    NodeRef held = Node::share_if_alive(*node);
    if (!held) continue;
    node->pending_uses = 0;
    node->reads = false;
    for (const NodeRef& input : node->inputs()) ++input->pending_uses;
    if (node->is(NodeKind::constant) && node->base()) ++node->base()->pending_uses;
    live.push_back(std::move(held));
  }
}

std::vector<NodeRef> Pending::held() {
  collect();
  std::vector<NodeRef> live;
  take_live(constants_, live);
  take_live(operations_, live);
  std::erase_if(live, [](const NodeRef& node) { return node->owners() <= node->pending_uses + 1; });
  return live;
}

std::vector<NodeRef> Pending::readers(const Writes& writes, const Walk* inside) {
  collect();
  std::vector<NodeRef> found;
  std::vector<NodeRef> live;
  take_live(operations_, live);
  for (const NodeRef& node : live) {
    if (inside != nullptr && inside->contains(*node)) continue;
    const std::span<const NodeRef> inputs = node->inputs();
    node->reads = std::any_of(inputs.begin(), inputs.end(), [&](const NodeRef& input) {
      return (input->is(NodeKind::operation) && input->reads) || writes.touch(*input);
    });
    if (!node->reads || node->owners() <= node->pending_uses + 1) continue;
    node->reads = false;  // what is computed of it reads it then
    found.push_back(node);
  }
  return found;
}

}  // namespace forebay::compute
