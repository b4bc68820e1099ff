// The seam through which nn follows what tensors do; compute knows nothing of gradients.
#pragma once

#include <memory>
#include <span>
#include <variant>

#include "forebay/compute/program.hpp"
#include "forebay/compute/tensor.hpp"

namespace forebay::compute {

/// What was done: an elementwise operation, or one of the others. `other` is what autograd cannot
/// follow yet.
enum class Action : std::uint8_t {
  elementwise,
  sum,
  mean,
  matmul,
  reshape,
  transpose,
  broadcast,
  other,
};

struct ActionRecord {
  Action action = Action::elementwise;
  Op op = Op::add;  ///< for elementwise
  std::span<const Tensor>
      inputs;            ///< as given, before broadcasting and casts; scalars are 0-d tensors
  const Tensor& output;  ///< without a hook yet
  std::span<const int> axes = {};  ///< sum and mean: non-negative, sorted; transpose: the two
  const char* name = "";           ///< of another action
};

/// Hangs on a tensor that takes part in autograd.
struct AutogradHook {
  AutogradHook() = default;
  AutogradHook(const AutogradHook&) = delete;
  AutogradHook& operator=(const AutogradHook&) = delete;
  virtual ~AutogradHook() = default;
  /// Called on the first input that has a hook, after the operation was built. Returns the hook of
  /// the output, or null. Throws Error for what it ought to follow and cannot.
  virtual std::shared_ptr<AutogradHook> record(const ActionRecord& record) = 0;
};

}  // namespace forebay::compute
