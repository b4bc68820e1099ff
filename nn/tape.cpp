#include "nn/tape.hpp"

#include <algorithm>
#include <string>

#include "forebay/nn/autograd.hpp"
#include "forebay/pool/pool.hpp"
#include "nn/gradients.hpp"

namespace forebay::nn {

TapeNode::TapeNode(const Dims& shape, Device& device)
    : shape_(shape), device_(device.shared_from_this()) {}

TapeNode::~TapeNode() {
  std::shared_ptr<TapeNode> doomed;
  release_inputs(doomed);
  while (doomed) {
    const std::shared_ptr<TapeNode> node = std::move(doomed);
    doomed = std::move(node->next_doomed_);
    node->release_inputs(doomed);
  }
}

void TapeNode::release_inputs(std::shared_ptr<TapeNode>& doomed) noexcept {
  for (std::shared_ptr<TapeNode>& input : inputs_) {
    // A sole owner stays one: nobody else has a handle to copy.
    if (input.use_count() == 1) {
      input->next_doomed_ = std::move(doomed);
      doomed = std::move(input);
    } else {
      input.reset();
    }
  }
}

std::shared_ptr<compute::AutogradHook> TapeNode::record(const compute::ActionRecord& record) {
  if (!is_grad_enabled()) return nullptr;
  if (record.action == compute::Action::other) {
    throw Error(std::string(record.name) +
                " has no gradient yet; use detach() or NoGradGuard where none is wanted");
  }
  const GradientRule* rule = find_rule(record.action, record.op);
  if (rule == nullptr) return nullptr;
  for (std::size_t i = 0; i < record.inputs.size(); ++i) {
    if (rule->gradient[i] != nullptr && record.inputs[i].autograd() != nullptr) {
      return std::make_shared<Operation>(record, *rule);
    }
  }
  return nullptr;
}

void TapeNode::contribute(Tensor contribution) {
  gradient =
      gradient.defined() ? std::move(gradient) + std::move(contribution) : std::move(contribution);
}

const Tensor& Leaf::value() {
  if (content_ == Content::stale) {
    assign(storage_, zeros(shape(), device()));
    content_ = Content::zeros;
  }
  return storage_;
}

void Leaf::propagate(Tensor sum, bool /*retain*/) {
  if (content_ == Content::none) {
    const pool::AllocationScope scope("nn.gradient");
    storage_ = empty(shape(), device());
    content_ = Content::stale;
  }
  // Gradients are of the type in which they were computed, a leaf is f32.
  sum = expand(std::move(sum), shape()).to(DType::f32);
  if (content_ == Content::sum) sum = storage_ + std::move(sum);
  assign(storage_, std::move(sum));
  content_ = Content::sum;
}

Operation::Operation(const compute::ActionRecord& record, const GradientRule& rule)
    : TapeNode(record.output.shape(), record.output.device()), rule_(rule), action_(record.action) {
  unsigned needs = 0;
  for (std::size_t i = 0; i < record.inputs.size(); ++i) {
    if (rule.gradient[i] == nullptr) continue;
    inputs_[i] = tape_node(record.inputs[i]);
    if (inputs_[i]) needs |= rule.needs[i];
  }
  for (std::size_t i = 0; i < record.inputs.size(); ++i) {
    if ((needs & (1U << i)) != 0) saved_[i] = record.inputs[i].node();
  }
  if ((needs & kOutput) != 0) saved_[kMaxInputs] = record.output.node();
  for (const int axis : record.axes) axes_ |= static_cast<std::uint8_t>(1U << axis);
  std::copy(record.starts.begin(), record.starts.end(), starts_.begin());
  device().counters().autograd.live_nodes.fetch_add(1, std::memory_order_relaxed);
}

Operation::~Operation() {
  device().counters().autograd.live_nodes.fetch_sub(1, std::memory_order_relaxed);
}

bool Operation::input_is_transposed(std::size_t i) const noexcept {
  const auto* producer = dynamic_cast<const Operation*>(inputs_[i].get());
  return producer != nullptr && producer->action_ == compute::Action::transpose;
}

void Operation::propagate(Tensor sum, bool retain) {
  std::size_t last = kMaxInputs;
  while (!inputs_[last - 1]) --last;
  for (std::size_t i = 0; i < last; ++i) {
    if (!inputs_[i]) continue;
    // The last one consumes the sum, which need not be stored for it then.
    Tensor part = rule_.gradient[i](*this, i + 1 == last ? std::move(sum) : sum);
    inputs_[i]->contribute(rule_.elementwise ? sum_to(std::move(part), shape(), input_shape(i))
                                             : std::move(part));
  }
  if (!retain) {
    spent_ = true;
    saved_ = {};
  }
}

std::shared_ptr<TapeNode> tape_node(const Tensor& tensor) {
  const std::shared_ptr<compute::AutogradHook>& hook = tensor.autograd();
  if (!hook) return nullptr;
  std::shared_ptr<TapeNode> node = std::dynamic_pointer_cast<TapeNode>(hook);
  if (!node) throw Error("autograd: a tensor carries the hook of another differentiation library");
  return node;
}

Leaf* as_leaf(const Tensor& tensor) noexcept {
  return dynamic_cast<Leaf*>(tensor.autograd().get());
}

Tensor expand(Tensor tensor, const Dims& shape) {
  return tensor.shape() == shape ? std::move(tensor) : tensor.broadcast_to(shape);
}

}  // namespace forebay::nn
