// The engine of a device: builds expressions within the limits, and evaluates them.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "compute/capture_log.hpp"
#include "compute/fusion_limits.hpp"
#include "compute/lower.hpp"
#include "compute/mailboxes.hpp"
#include "compute/node.hpp"
#include "compute/pending.hpp"
#include "compute/program_cache.hpp"
#include "compute/walk.hpp"
#include "forebay/compute/backend.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::compute {

class GraphState;
struct Captured;

/// Everything that compute keeps for one device. Work of a device goes through its engine, one call
/// at a time.
///
/// Thread safety: every call locks the mutex, which is recursive so that a caller may hold it over
/// several calls. Errors of every call: ClosedError, OutOfMemory, what executors throw, and Error
/// where a call of the same thread is under way (UnderWay); nodes whose launch did not happen stay
/// what they were.
class Engine {
 public:
  /// The device's engine, made when a Runtime opens the device, or else at first use. Throws
  /// ClosedError, and what the backend's factory throws.
  [[nodiscard]] static Engine& of(Device& device);

  Engine(Device& device, std::unique_ptr<Backend> backend);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Ends every graph of the device.
  ~Engine();

  [[nodiscard]] Device& device() const noexcept { return device_; }
  /// Where work goes now: the device's backend, or what records its calls during a capture.
  [[nodiscard]] Backend& backend() const noexcept { return *active_; }
  [[nodiscard]] std::recursive_mutex& mutex() noexcept { return mutex_; }

  /// An operation on `operands`, which are consumed: lazy, after as much of them was evaluated as
  /// the limits and the broadcast to `shape` ask for. Constants alone give a constant.
  [[nodiscard]] NodeRef operation(Op op, DType type, const Dims& shape,
                                  std::span<NodeRef> operands);
  /// A number beside a tensor. Recent ones are shared by the expressions that have them.
  [[nodiscard]] NodeRef scalar(DType type, std::uint64_t bits);
  /// A tensor of one number, given by its lowest bits.
  [[nodiscard]] NodeRef constant(const Dims& shape, DType type, std::uint64_t bits);
  /// Elements that nobody has written yet.
  [[nodiscard]] NodeRef uninitialized(const Dims& shape, DType type);
  /// Arrays from pageable host memory, converted to `type`, each as a tensor of `shape`. They may
  /// change when it returns. REQUIRES: elements for the shape in each. Throws CaptureError.
  struct HostArray {
    const void* elements;
    DType type;
  };
  [[nodiscard]] std::vector<NodeRef> upload(std::span<const HostArray> arrays, const Dims& shape,
                                            DType type);

  /// Makes `node` storage.
  void evaluate(const NodeRef& node, const End& end);
  /// The same for several; expressions of one shape share launches.
  void evaluate(std::span<const NodeRef> nodes, const End& end);
  /// `node` itself if it is contiguous storage once evaluated, else a copy that is.
  [[nodiscard]] NodeRef contiguous(const NodeRef& node, const End& end);
  /// A copy of its own, row-major from the start of its storage.
  [[nodiscard]] NodeRef copy(const NodeRef& node, const End& end);
  /// `node` by other strides, `offset` elements further on. REQUIRES: storage or a constant, in
  /// which every element of the view lies.
  [[nodiscard]] NodeRef view(const NodeRef& node, const Dims& shape, const Dims& strides,
                             std::int64_t offset = 0);

  /// A constant becomes the view of storage that it should be, once what it is a view of is
  /// storage. REQUIRES: the mutex.
  void settle(Node& node);

  /// `input` reduced over `reduced_dims` of its dimensions, as a tensor of `shape`: one launch with
  /// the expression in front of it. `input` is stored only if somebody else than `own_references`
  /// of the caller holds it. The result is storage of its own, also where
  /// only extents of 1 are reduced. REQUIRES: `input` is not empty.
  [[nodiscard]] NodeRef reduce(ReduceOp op, const NodeRef& input, std::uint8_t reduced_dims,
                               const Dims& shape, std::uint32_t own_references);
  /// A row program along the last dimension of the first input, of more than one element; its value
  /// has that one's shape, and `type`. `scalars` as in RowBinding. REQUIRES: inputs as the program
  /// wants them, not empty. (run_rows.cpp)
  [[nodiscard]] NodeRef run_rows(const RowProgram& program, std::span<const NodeRef> inputs,
                                 std::vector<std::uint64_t> scalars, DType type);
  /// The bits of the one element of `node`, from the lowest on; waits for them.
  [[nodiscard]] std::uint64_t read(const NodeRef& node);
  /// Writes the elements of `value` over those of `target`: in one launch if `value` is an
  /// expression, and in a second one if `target` is a strided view, or if somebody else than
  /// `own_references` of the caller holds an expression that reads what is written. What is pending
  /// sees the target as it was. REQUIRES: equal shapes and types; no two elements of `target` share
  /// memory. (assign.cpp)
  void assign(const NodeRef& target, const NodeRef& value, std::uint32_t own_references);
  /// To be called before memory is written in place: evaluates what is pending and reads it, but
  /// for what is in the expression that `inside` walked last. Whether there was any. REQUIRES: the
  /// mutex.
  bool protect(const Writes& writes, const Walk* inside = nullptr);
  /// How many operations are to be done.
  [[nodiscard]] std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return pending_.size();
  }
  /// `protect` for all of `targets`, which become storage that somebody may have written to.
  void will_write(std::span<const NodeRef> targets);
  /// The memory of `target` may be written by what comes next. REQUIRES: the mutex; storage.
  void wrote(const Node& target);
  /// Nodes without owners that are in the list of what is pending: freed, at once if nobody has the
  /// mutex, else by the next call.
  void bury(Node* first) noexcept;

  /// Another library gets its memory back, by `owner`, once the device is done with it: waits for
  /// that, or leaves it to `settle` during a capture. Throws ClosedError; `owner` goes all the
  /// same.
  void let_go(std::shared_ptr<void> owner);

  // Captures (graph.cpp).
  /// What `work` enqueues becomes a recording; `earlier` may be made to hold it. Throws
  /// CaptureError inside of a capture, and what `work` throws.
  [[nodiscard]] Captured capture(const std::function<void()>& work, Recording* earlier);
  /// Numbers that a captured function left have their value before the first replay, too, also
  /// where none comes: writes the memory of those that are storage by now. Nobody sees a change, so
  /// nobody is asked (`protect`). REQUIRES: the mutex, no capture.
  void fill(std::span<const NodeRef> numbers);
  /// The number of the capture that is under way, 0 if none is.
  [[nodiscard]] std::uint64_t capture_number() const noexcept {
    return capture_number_.load(std::memory_order_relaxed);
  }
  /// Throws CaptureError during a capture, naming `what` and what to do `instead`. REQUIRES: the
  /// mutex.
  void refuse_in_capture(const char* what, const char* instead) const;
  /// Work is handed to the backend while one lives. What allocates memory then may ask the pool's
  /// pressure callbacks, which must not come back into the engine: what is under way lies in its
  /// members. REQUIRES: the mutex; nothing under way (Error).
  class UnderWay {
   public:
    explicit UnderWay(Engine& engine) : engine_(engine) {
      engine_.refuse_under_way();
      engine_.under_way_ = true;
    }
    ~UnderWay() { engine_.under_way_ = false; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    Engine& engine_;
  };
  /// A graph that is being captured uses the node's storage. REQUIRES: the mutex.
  void keep(const Node& node) {
    if (log_ != nullptr) [[unlikely]]
      log_->keep(node.storage);
  }
  /// Node::become_storage, of what is no longer pending. REQUIRES: the mutex.
  void make_storage(Node& node, std::shared_ptr<Storage> storage);
  /// Lets go of what was let go of during a capture. Call it without the mutex, which the other
  /// library's code must not wait under.
  void settle() noexcept;
  /// Graphs that are open. REQUIRES: the mutex.
  std::unordered_set<GraphState*>& graphs() noexcept { return graphs_; }

 private:
  class Capture;

  void refuse_under_way() const;
  /// `assign` for strided views that are not empty (strided_copy.cpp).
  void assign_strided(const NodeRef& target, const NodeRef& value);
  void assign_stored(const NodeRef& target, const NodeRef& value);
  void fit_shape(NodeRef& operand, const Dims& shape);
  [[nodiscard]] Weight fit_limits(std::span<const NodeRef> operands);
  void trace_end(const End& end, const Weight& weight) const;
  void split(Node* root);
  void lower(const LowerRequest& request);
  void launch(const End& end, void* first_output = nullptr);
  void run(const Program& program, const Binding& binding);
  void run_stages(const RowProgram& program, const RowBinding& binding);
  [[nodiscard]] std::shared_ptr<Storage> place(const Node& result);
  [[nodiscard]] NodeRef fresh(const Dims& shape, DType type);
  [[nodiscard]] std::shared_ptr<Storage> allocate(std::int64_t numel, DType type,
                                                  const Stream* stream = nullptr);

  Device& device_;
  std::recursive_mutex mutex_;
  std::unique_ptr<Backend> backend_;
  Backend* active_;
  FusionLimits limits_;
  ProgramCache programs_;
  Mailboxes mailboxes_;
  Pending pending_;
  // The latest number of each hash, or none. They own the device, until it closes.
  std::array<NodeRef, 16> scalars_;
  Walk walk_;
  Lowering lowering_;
  std::vector<std::shared_ptr<Storage>> results_;  // of the launch that is under way
  bool under_way_ = false;                         // UnderWay
  CaptureLog* log_ = nullptr;                      // of the capture that is under way
  std::uint64_t captures_ = 0;
  std::atomic<std::uint64_t> capture_number_{0};
  std::unordered_set<GraphState*> graphs_;
  std::vector<std::shared_ptr<void>> left_;  // let go of during a capture
};

}  // namespace forebay::compute
