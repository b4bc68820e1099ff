#include "forebay/nn/autograd.hpp"

#include <vector>

#include "nn/tape.hpp"

namespace forebay::nn {
namespace {

thread_local bool grad_enabled = true;

Leaf& require_leaf(const Tensor& tensor, const char* who) {
  if (!tensor.defined()) throw Error(std::string(who) + ": the tensor is undefined");
  Leaf* leaf = as_leaf(tensor);
  if (leaf == nullptr) {
    throw Error(std::string(who) + ": the tensor of shape " + to_string(tensor.shape()) +
                " is no leaf; only results of requires_grad and parameters have a gradient");
  }
  return *leaf;
}

/// Every node that a root depends on, each with the number of consumers it waits for.
/// Cost: linear in nodes and edges. Whatever happens, nodes are left as they were found.
class Pass {
 public:
  explicit Pass(TapeNode& root) {
    reached_.push_back(&root);
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      for (const std::shared_ptr<TapeNode>& input : reached_[i]->inputs()) {
        if (input && input->waiting++ == 0) reached_.push_back(input.get());
      }
    }
  }
  ~Pass() {
    for (TapeNode* node : reached_) {
      node->waiting = 0;
      node->gradient = {};
    }
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  void require_unspent() const {
    for (const TapeNode* node : reached_) {
      if (node->spent()) {
        throw Error(
            "backward: the values that this graph kept were released when backward used it; "
            "compute the loss again or pass retain_graph");
      }
    }
  }

  void run(Tensor seed, bool retain) {
    reached_.front()->contribute(std::move(seed));
    std::vector<TapeNode*> ready{reached_.front()};
    while (!ready.empty()) {
      TapeNode& node = *ready.back();
      ready.pop_back();
      node.propagate(std::exchange(node.gradient, {}), retain);
      for (const std::shared_ptr<TapeNode>& input : node.inputs()) {
        if (input && --input->waiting == 0) ready.push_back(input.get());
      }
    }
  }

 private:
  std::vector<TapeNode*> reached_;  // the root keeps them alive
};

Tensor seed_for(const Tensor& loss, const Tensor& seed) {
  if (!seed.defined()) {
    if (loss.numel() != 1) {
      throw ShapeError("backward: a loss of shape " + to_string(loss.shape()) +
                       " needs a seed of its shape; without one it has one element");
    }
    return full(loss.shape(), 1.0F, loss.device());
  }
  if (seed.shape() != loss.shape() || seed.dtype() != DType::f32 ||
      &seed.device() != &loss.device()) {
    throw ShapeError("backward: the seed is " + std::string(to_string(seed.dtype())) +
                     " of shape " + to_string(seed.shape()) + " on " +
                     seed.device().id_beside(loss.device()) + ", the loss f32 of shape " +
                     to_string(loss.shape()) + " on " + loss.device().id() + "; they must agree");
  }
  return Tensor(seed.node());
}

}  // namespace

bool is_grad_enabled() noexcept { return grad_enabled; }

NoGradGuard::NoGradGuard() noexcept : before_(std::exchange(grad_enabled, false)) {}
NoGradGuard::~NoGradGuard() { grad_enabled = before_; }

Tensor requires_grad(const Tensor& tensor) {
  if (!tensor.defined()) throw Error("requires_grad: the tensor is undefined");
  if (tensor.dtype() != DType::f32) {
    throw ShapeError("requires_grad: the tensor is " + std::string(to_string(tensor.dtype())) +
                     "; only f32 has gradients");
  }
  Tensor leaf(tensor.eval().node());
  leaf.set_autograd(std::make_shared<Leaf>(leaf));
  return leaf;
}

bool is_tracked(const Tensor& tensor) noexcept { return tensor.autograd() != nullptr; }

void backward(const Tensor& loss, const Tensor& seed, bool retain_graph) {
  if (!loss.defined()) throw Error("backward: the loss is undefined");
  const std::shared_ptr<TapeNode> root = tape_node(loss);
  if (!root) {
    throw Error("backward: the loss depends on no tensor that requires a gradient");
  }
  Tensor start = seed_for(loss, seed);
  loss.device().require_open();
  Pass pass(*root);
  pass.require_unspent();
  pass.run(std::move(start), retain_graph);
}

Tensor grad(const Tensor& leaf) { return require_leaf(leaf, "grad").value(); }

void zero_grad(const Tensor& leaf) { require_leaf(leaf, "zero_grad").clear(); }

}  // namespace forebay::nn
