// The seam through which nn follows what tensors do; compute knows nothing of gradients.
#pragma once

#include <cstdint>
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
  prod,
  extreme,  ///< min and max
  matmul,
  reshape,
  transpose,
  broadcast,
  narrow,
  flip,
  cat,
  other,
};

/// The most inputs that an action has.
inline constexpr std::size_t kMaxActionInputs = 3;

struct ActionRecord {
  Action action = Action::elementwise;
  Op op = Op::add;  ///< for elementwise
  std::span<const Tensor>
      inputs;            ///< as given, before broadcasting and casts; scalars are 0-d tensors
  const Tensor& output;  ///< without a hook yet
  /// Reductions: non-negative, sorted; transpose: the two; narrow, flip and cat: the one.
  std::span<const int> axes = {};
  /// Along that axis, narrow: where the result begins in the input; cat: where each input begins in
  /// the result.
  std::span<const std::int64_t> starts = {};
  const char* name = "";  ///< of another action
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
