// Reverse-mode differentiation of everything that tensors can do.
#pragma once

#include "forebay/compute/tensor.hpp"

namespace forebay::nn {

/// A leaf: a tensor whose gradient `backward` will compute. It is on the storage of `tensor`, or on
/// a copy if that is a view with strides of its own. Copies of the result share the gradient.
/// Operations on leaves and on what was computed from them are recorded on a tape of
/// reference-counted nodes that hang on their results: dropping the last tensor drops the graph, in
/// constant stack. The tape keeps only the values that a derivative needs, and those are stored by
/// the launch that computes them. Throws ShapeError for anything but f32. Thread safety of
/// everything here: one graph is used by one thread at a time.
[[nodiscard]] Tensor requires_grad(const Tensor& tensor);

/// Whether operations on `tensor` are recorded: it is a leaf or was computed from one.
[[nodiscard]] bool is_tracked(const Tensor& tensor) noexcept;

/// Adds the derivative of `loss` by every leaf that it depends on to that leaf's gradient.
/// Without a seed the loss has one element and the seed is 1; with one, it weighs the elements of
/// `loss` and has its shape and type. The values that the graph kept are released on the way, so a
/// graph serves once, unless `retain_graph` is set. Gradients are enqueued when this returns.
/// Derivatives at a corner: relu at 0 has 0; min and max of equal values give each side one half;
/// comparisons, conditions and conversions to i32 have none.
/// Throws ShapeError for a loss with more elements or a seed that does not fit, and Error if the
/// loss depends on no leaf or its graph was used before; neither changes anything.
void backward(const Tensor& loss, const Tensor& seed = {}, bool retain_graph = false);

/// The gradient of a leaf: undefined before its first `backward`, zeros after `zero_grad`. Its
/// storage is the same for the leaf's whole life, so a handle taken earlier sees later values.
/// Throws Error for a tensor that is no leaf.
[[nodiscard]] Tensor grad(const Tensor& leaf);

/// Makes the gradient of a leaf zero and keeps its storage. Costs nothing on the device: the next
/// `backward` overwrites instead of adding, and only somebody who looks before that has zeros
/// written. Throws Error for a tensor that is no leaf.
void zero_grad(const Tensor& leaf);

/// Whether this thread records operations now.
[[nodiscard]] bool is_grad_enabled() noexcept;

/// Nothing is recorded on this thread while a guard lives. Guards nest.
class NoGradGuard {
 public:
  NoGradGuard() noexcept;
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool before_;
};

}  // namespace forebay::nn
