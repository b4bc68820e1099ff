// Graphs: work of tensors that is captured once and replayed at the cost of one launch.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "forebay/runtime/device.hpp"

namespace forebay {

namespace compute {
class GraphState;
}  // namespace compute

/// Work that was captured, ready to be replayed. A cheap handle; copies mean the same graph, which
/// ends with the last of them. Undefined until `capture` gave it.
///
/// The addresses of a graph are fixed: memory that it allocates stays its own until it ends, and
/// every tensor from before the capture that it reads or writes is kept alive by it. So a replay
/// reads what such tensors hold by then (write new input into them with `assign`), and a tensor
/// that was made inside the capture holds the latest replay's value. What is freed inside the
/// capture is used again there; nothing of it is a part of the graph.
///
/// Thread safety: as Tensor. Every call but `defined` throws ClosedError once the runtime has
/// closed, and CaptureError inside of a capture.
class Graph {
 public:
  Graph() = default;
  [[nodiscard]] bool defined() const noexcept { return state_ != nullptr; }

  /// Enqueues the captured work once more, behind all work of the device so far; does not wait.
  /// Cost: one call of the driver. Throws DriverError, and Error for an undefined graph.
  void replay() const;
  /// Captures `work` in place of what the graph held: in place where the driver can, or else by
  /// building its executable anew, which the counters `graphs.updated` and `graphs.rebuilt` tell
  /// apart. Tensors of the earlier capture keep their last values. Throws as `capture`; the graph
  /// is then what it was before.
  void update(const std::function<void()>& work);
  /// Launches and copies of one replay.
  [[nodiscard]] std::size_t size() const;

 private:
  friend Graph capture(Device& device, const std::function<void()>& work);
  explicit Graph(std::shared_ptr<compute::GraphState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<compute::GraphState> state_;
};

/// Runs `work`, whose tensors' launches become a graph instead of being done. Nothing is computed
/// until the first replay: until then, tensors that `work` made have no value, but for numbers
/// (zeros, full) that it leaves and does not compute itself (eval, data). Expressions and constants
/// that somebody holds are computed before the capture begins, so that every tensor from before it
/// is memory, which replays read and write (OutOfMemory where that does not fit, as `zeros` of any
/// shape takes none before); and what somebody holds of those that `work` made is computed by each
/// replay. Other threads that use tensors of the device wait meanwhile.
///
/// What needs a value at once cannot be captured and throws CaptureError: item, to_host,
/// copy_to_host, from_host, Adam's first step for a parameter, replays, another capture, and data
/// of a view with strides on memory from before. It has done nothing then, so `work` may catch it
/// and go on. What `work` throws ends the capture and is thrown here; tensors from before have
/// their values then, but what `work` itself changed (a gradient that counts as new, a variable)
/// stays changed, and tensors that it made have no value.
///
/// On a device whose backend has no graphs of its own, such as the host, the same calls are kept
/// and repeated. Throws CaptureError, DriverError, OutOfMemory, ClosedError.
[[nodiscard]] Graph capture(Device& device, const std::function<void()>& work);
/// The same by the stream: the default stream of its device, on which all tensors of that work.
/// Throws CaptureError for another one, and ClosedError for a handle without a device, before
/// anything else.
[[nodiscard]] Graph capture(const Stream& stream, const std::function<void()>& work);

/// Whether this thread is inside of a capture of the device's work. Waits for one of another
/// thread.
[[nodiscard]] bool capturing(Device& device);

}  // namespace forebay
