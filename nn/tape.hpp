// The tape: one node for each recorded operation, hanging on the operation's result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "forebay/compute/autograd_hook.hpp"
#include "forebay/compute/tensor.hpp"

namespace forebay::nn {

struct GradientRule;

/// A node of the tape: a leaf or a recorded operation.
///
/// Invariants:
/// 1. Nodes own their inputs, never their consumers or the tensor that they hang on: no cycles.
/// 2. Outside of a backward pass `waiting` is 0 and `gradient` undefined.
/// 3. Destroying a chain of any length takes constant stack and allocates nothing.
class TapeNode : public compute::AutogradHook {
 public:
  /// The most inputs that an operation can have.
  static constexpr std::size_t kMaxInputs = compute::kMaxActionInputs;

  ~TapeNode() override;
  std::shared_ptr<compute::AutogradHook> record(const compute::ActionRecord& record) final;

  /// The shape of the tensor that the node hangs on.
  [[nodiscard]] const Dims& shape() const noexcept { return shape_; }
  [[nodiscard]] Device& device() const noexcept { return *device_; }
  /// Null for an input that needs no gradient.
  [[nodiscard]] std::span<const std::shared_ptr<TapeNode>> inputs() const noexcept {
    return inputs_;
  }

  /// Takes part in the gradient; several contributions are added up lazily. A contribution may
  /// have any shape that broadcasts to `shape()`.
  void contribute(Tensor contribution);
  /// Whether the values that `propagate` needs are gone.
  [[nodiscard]] virtual bool spent() const noexcept = 0;
  /// Passes the sum of all contributions on: to the inputs, or into a leaf's storage.
  virtual void propagate(Tensor sum, bool retain) = 0;

  // Belongs to the backward pass.
  std::uint32_t waiting = 0;  ///< consumers that have not contributed yet
  Tensor gradient;

 protected:
  TapeNode(const Dims& shape, Device& device);
  std::array<std::shared_ptr<TapeNode>, kMaxInputs> inputs_;

 private:
  /// Moves inputs that nobody else owns to the front of `doomed`, and lets go of the others.
  void release_inputs(std::shared_ptr<TapeNode>& doomed) noexcept;

  Dims shape_;
  std::shared_ptr<Device> device_;         // a node may outlive every tensor
  std::shared_ptr<TapeNode> next_doomed_;  // links a chain that is being destroyed
};

/// A tensor whose gradient somebody wants, and that gradient.
class Leaf final : public TapeNode {
 public:
  explicit Leaf(const Tensor& tensor) : TapeNode(tensor.shape(), tensor.device()) {}

  /// The gradient in its storage, zeros where it was cleared; undefined before the first one.
  [[nodiscard]] const Tensor& value();
  void clear() noexcept {
    if (content_ == Content::sum) content_ = Content::stale;
  }

  [[nodiscard]] bool spent() const noexcept override { return false; }
  void propagate(Tensor sum, bool retain) override;

 private:
  enum class Content : std::uint8_t {
    none,   ///< no storage yet
    stale,  ///< old numbers that count as zeros
    zeros,
    sum,
  };
  Content content_ = Content::none;
  Tensor storage_;
};

/// A recorded operation with the values that its derivative needs.
class Operation final : public TapeNode {
 public:
  Operation(const compute::ActionRecord& record, const GradientRule& rule);
  ~Operation() override;

  [[nodiscard]] bool spent() const noexcept override { return spent_; }
  void propagate(Tensor sum, bool retain) override;

  // What rules read.
  /// The i-th operand's value; only what the rule asked for is there.
  [[nodiscard]] Tensor input(std::size_t i) const { return Tensor(saved_[i]); }
  [[nodiscard]] Tensor output() const { return Tensor(saved_[kMaxInputs]); }
  [[nodiscard]] const Dims& input_shape(std::size_t i) const noexcept {
    return inputs_[i]->shape();
  }
  /// Whether the i-th operand is a matrix that was made by transposing another one.
  [[nodiscard]] bool input_is_transposed(std::size_t i) const noexcept;
  /// Bit d is set if dimension d was reduced, is one of the two that were exchanged, or the one
  /// along which there are parts.
  [[nodiscard]] std::uint8_t axes() const noexcept { return axes_; }
  /// ActionRecord::starts.
  [[nodiscard]] std::int64_t start(std::size_t i) const noexcept { return starts_[i]; }

 private:
  const GradientRule& rule_;
  compute::Action action_;
  std::uint8_t axes_ = 0;
  std::array<std::int64_t, kMaxInputs> starts_{};
  bool spent_ = false;
  std::array<compute::NodeRef, kMaxInputs + 1> saved_;  // operands, then the output
};

/// The tape node that `tensor` hangs on; null if none. Throws Error for a hook that is not ours.
[[nodiscard]] std::shared_ptr<TapeNode> tape_node(const Tensor& tensor);
/// The leaf that `tensor` is; null if it is none.
[[nodiscard]] Leaf* as_leaf(const Tensor& tensor) noexcept;
/// `tensor` itself or broadcast to `shape`.
[[nodiscard]] Tensor expand(Tensor tensor, const Dims& shape);

}  // namespace forebay::nn
