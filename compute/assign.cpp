// Writing in place: what is pending and reads the target is evaluated before.
#include <algorithm>

#include "compute/engine.hpp"

namespace forebay::compute {
namespace {

// Whether each element of `leaf` is read where the same element of `target` is written, if at all.
bool in_step(const Node& leaf, const Node& target) {
  return leaf.contiguous && leaf.address() == target.address() && leaf.type == target.type &&
         leaf.shape == target.shape;
}

}  // namespace

void Engine::bury(Node* first) noexcept {
  pending_.bury(first);
  if (!mutex_.try_lock()) return;
  pending_.collect();
  mutex_.unlock();
}

bool Engine::protect(const Writes& writes, const Walk* inside) {
  if (pending_.size() == 0) return false;
  const std::vector<NodeRef> readers = pending_.readers(writes, inside);
  if (readers.empty()) return false;
  evaluate(readers, kEndConsumer);
  return true;
}

void Engine::wrote(const Node& target) {
  target.storage->ticket = 0;
  keep(target);
  if (log_ != nullptr) [[unlikely]]
    log_->wrote(extent_of(target));
}

void Engine::will_write(std::span<const NodeRef> targets) {
  const std::lock_guard lock(mutex_);
  refuse_under_way();
  evaluate(targets, kEndConsumer);
  if (pending_.size() != 0) {
    std::vector<Extent> extents;
    for (const NodeRef& target : targets) extents.push_back(extent_of(*target));
    merge(extents);
    protect({extents});
  }
  for (const NodeRef& target : targets) wrote(*target);
}

void Engine::assign(const NodeRef& target, const NodeRef& value, std::uint32_t own_references) {
  const std::lock_guard lock(mutex_);
  refuse_under_way();
  evaluate(target, kEndConsumer);
  settle(*value);
  if (target->numel == 0) return;
  if (!target->contiguous) {
    assign_strided(target, value);
    return;
  }
  if (value->is(NodeKind::storage) && value->contiguous) {
    assign_stored(target, value);
    return;
  }
  const Extent memory = extent_of(*target);
  const Writes writes{{&memory, 1}};
  Node* const root = value.get();
  const bool held = value->owners() > own_references;
  // Each round that is not the last one evaluates something.
  for (;;) {
    lower({.roots = {&root, 1}});
    const auto touched = [&](const Node* leaf) { return writes.touch(*leaf); };
    const std::vector<Node*>& leaves = walk_.leaves();
    const std::vector<Node*>& constants = walk_.constants();
    const bool reads = std::any_of(leaves.begin(), leaves.end(), touched) ||
                       std::any_of(constants.begin(), constants.end(), touched);
    // In place is fine element by element only: what is read in another order would be read after
    // it was written. And an expression that somebody holds would be read once more.
    if (reads && (held || std::any_of(leaves.begin(), leaves.end(), [&](const Node* leaf) {
                    return touched(leaf) && !in_step(*leaf, *target);
                  }))) {
      assign_stored(target, contiguous(value, kEndConsumer));
      return;
    }
    // The launch stores what somebody holds of the expression, if that is not too much.
    if (reads && !lowering_.last_reader) {
      std::vector<NodeRef> kept;
      for (Node* const node : walk_.operations()) {
        if (node != root && node->owners() > node->uses) kept.push_back(Node::share(*node));
      }
      evaluate(kept, kEndConsumer);
      continue;
    }
    if (pending_.size() == walk_.operations().size() || !protect(writes, &walk_)) break;
  }
  // It stays an expression, and its leaves what they are.
  if (held) lowering_.last_reader = false;
  wrote(*target);
  launch(kEndConsumer, target->address());
}

// REQUIRES: both are contiguous storage.
void Engine::assign_stored(const NodeRef& target, const NodeRef& value) {
  if (value->address() == target->address()) return;
  const Extent memory = extent_of(*target);
  const NodeRef source =
      overlap(memory, extent_of(*value)) ? copy(value, kEndConsumer) : NodeRef(value);
  protect({{&memory, 1}});
  wrote(*target);
  keep(*source);
  backend().copy(source->address(), target->address(),
                 static_cast<std::size_t>(target->numel) * size_of(target->type),
                 device_.default_stream());
}

}  // namespace forebay::compute
