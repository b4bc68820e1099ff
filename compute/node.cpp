#include "compute/node.hpp"

#include <algorithm>

#include "compute/engine.hpp"
#include "compute/strides.hpp"

namespace forebay::compute {
namespace {

// Strides of dimensions with one element do not matter.
bool is_contiguous(const Dims& shape, const Dims& strides) {
  const Dims row_major = contiguous_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != row_major[i]) return false;
  }
  return true;
}

}  // namespace

Storage::Storage(std::shared_ptr<Device> device, std::size_t bytes, const Stream* stream)
    : device_(std::move(device)), bytes_(bytes) {
  device_->require_open();
  const char* const scope = pool::AllocationScope::current();
  data_ = device_->pool().allocate(bytes,
                                   (stream != nullptr ? *stream : device_->default_stream()).id(),
                                   {.tag = scope != nullptr ? scope : "tensor"});
}

Storage::~Storage() {
  if (owner_ != nullptr) {
    try {
      Engine::of(*device_).let_go(std::move(owner_));
    } catch (const Error&) {
      // The device closes, and has done all of its work.
    }
    return;
  }
  if (data_ == nullptr || device_->closed()) return;
  device_->pool().deallocate(data_, device_->default_stream().id(), bytes_);
}

Node::Node(NodeKind k, DType t, const Dims& s, Device& d, Engine& e)
    : kind(k), type(t), shape(s), numel(checked_numel(s)), device(&d), engine(&e) {}

void Node::place(const Dims& by, std::int64_t from) noexcept {
  strides = by;
  offset = from;
  contiguous = is_contiguous(shape, strides);
}

NodeRef Node::operation(Op op, DType type, const Dims& shape, std::span<NodeRef> operands) {
  const Node& first = *operands.front();
  NodeRef node(new Node(NodeKind::operation, type, shape, *first.device, *first.engine));
  node->op = op;
  node->count = static_cast<std::uint8_t>(operands.size());
  std::move(operands.begin(), operands.end(), node->operands.begin());
  return node;
}

NodeRef Node::constant(Device& device, Engine& engine, const Dims& shape, DType type,
                       std::uint64_t bits) {
  NodeRef node(new Node(NodeKind::constant, type, shape, device, engine));
  node->keeper = device.shared_from_this();
  node->bits = bits;
  node->strides = contiguous_strides(shape);
  return node;
}

NodeRef Node::view_of(const NodeRef& base, const Dims& shape, const Dims& strides,
                      std::int64_t offset) {
  NodeRef node = constant(*base->device, *base->engine, shape, base->type, base->bits);
  node->operands[0] = base->base() ? base->base() : base;
  node->place(strides, base->offset + offset);
  return node;
}

NodeRef Node::view(Device& device, Engine& engine, const Dims& shape, DType type,
                   std::shared_ptr<Storage> storage, const Dims& strides, std::int64_t offset) {
  NodeRef node(new Node(NodeKind::storage, type, shape, device, engine));
  node->storage = std::move(storage);
  node->place(strides, offset);
  return node;
}

NodeRef Node::whole(Device& device, Engine& engine, const Dims& shape, DType type,
                    std::shared_ptr<Storage> storage) {
  NodeRef node(new Node(NodeKind::storage, type, shape, device, engine));
  node->storage = std::move(storage);
  node->strides = contiguous_strides(shape);
  return node;
}

NodeRef Node::share(Node& node) noexcept {
  node.refs_.fetch_add(1, std::memory_order_relaxed);
  return NodeRef(&node);
}

NodeRef Node::share_if_alive(Node& node) noexcept {
  std::uint32_t owners = node.owners();
  while (owners != 0) {
    if (node.refs_.compare_exchange_weak(owners, owners + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      return NodeRef(&node);
    }
  }
  return {};
}

void Node::become_storage(std::shared_ptr<Storage> new_storage) noexcept {
  storage = std::move(new_storage);
  strides = contiguous_strides(shape);
  offset = 0;
  contiguous = true;
  kind = NodeKind::storage;
  for (NodeRef& operand : operands) operand = NodeRef();
}

Dims Node::shape_of_base() const {
  Dims result = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] == 0) result[d] = 1;
  }
  return result;
}

void Node::change_base(NodeRef base) noexcept {
  const bool was_contiguous = contiguous;
  place(broadcast_strides(base->shape, contiguous_strides(base->shape), shape), 0);
  contiguous = was_contiguous;
  operands[0] = std::move(base);
}

void Node::become_view() noexcept {
  storage = base()->storage;
  offset += base()->offset;
  kind = NodeKind::storage;
  operands[0] = NodeRef();
}

// Nodes that lose their last owner hang on a list through themselves: no recursion, no allocation.
// The engine frees those that it may look at.
void Node::drop(Node* node) noexcept {
  node->next_dropped_ = nullptr;
  Node* buried = nullptr;
  while (node != nullptr) {
    Node* const dead = node;
    node = dead->next_dropped_;
    // Asked of the device while an operand keeps it.
    const bool listed = dead->pending_.load(std::memory_order_relaxed) && !dead->device->closed();
    for (NodeRef& operand : dead->operands) {
      Node* const child = operand.node_;
      operand.node_ = nullptr;
      if (child != nullptr && child->leave()) {
        child->next_dropped_ = node;
        node = child;
      }
    }
    if (listed) {
      dead->next_dropped_ = buried;
      buried = dead;
    } else {
      delete dead;
    }
  }
  if (buried != nullptr) buried->engine->bury(buried);
}

NodeRef::NodeRef(Node* node) noexcept : node_(node) {}

NodeRef::NodeRef(const NodeRef& other) noexcept : node_(other.node_) {
  if (node_ != nullptr) node_->refs_.fetch_add(1, std::memory_order_relaxed);
}

void NodeRef::release() noexcept {
  if (node_->leave()) Node::drop(node_);
}

}  // namespace forebay::compute
