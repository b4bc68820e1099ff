#include "forebay/compute/graph.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "compute/graph_state.hpp"
#include "compute/replay_list.hpp"
#include "forebay/runtime/log.hpp"

namespace forebay::compute {

/// The time during which an engine captures.
class Engine::Capture {
 public:
  Capture(Engine& engine, CaptureLog& log, Backend& target) : engine_(engine) {
    engine_.log_ = &log;
    engine_.active_ = &target;
    engine_.capture_number_.store(log.number(), std::memory_order_relaxed);
  }
  ~Capture() {
    engine_.log_ = nullptr;
    engine_.active_ = engine_.backend_.get();
    engine_.capture_number_.store(0, std::memory_order_relaxed);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  Engine& engine_;
};

namespace {

/// Whatever becomes of a capture, what was let go of inside goes after it.
class Settled {
 public:
  explicit Settled(Engine& engine) : engine_(engine) {}
  ~Settled() { engine_.settle(); }
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;

 private:
  Engine& engine_;
};

}  // namespace

Engine::~Engine() {
  const std::lock_guard lock(mutex_);
  for (GraphState* const graph : graphs_) graph->end();
  // In a forked child nodes went without a word to the list.
  if (!device_.closed()) pending_.clear();
}

Captured Engine::capture(const std::function<void()>& work, Recording* earlier) {
  const std::lock_guard lock(mutex_);
  device_.require_open();
  refuse_in_capture("capture", "capture one after the other");
  if (!work) throw Error("capture: there is no function to capture");
  const Stream& stream = device_.default_stream();
  // Whatever anybody reads or writes, inside or between replays, is memory.
  evaluate(pending_.held(), kEndConsumer);
  // Before the arena: what it makes ready outlives this graph.
  const bool native = backend_->prepare_capture(stream);
  std::optional<RecordingBackend> recorder;
  if (!native) recorder.emplace(*backend_);
  Backend& target = native ? *backend_ : *recorder;
  Captured captured;
  captured.memory = std::make_unique<CaptureMemory>(device_);
  std::vector<NodeRef> numbers;
  target.begin_capture(stream);
  try {
    CaptureLog log(++captures_);
    const Capture capture(*this, log, target);
    try {
      work();
      // What outlives the function has its value by each replay.
      const std::vector<NodeRef> left = pending_.held();
      std::copy_if(left.begin(), left.end(), std::back_inserter(numbers),
                   [](const NodeRef& node) { return node->is(NodeKind::constant); });
      evaluate(left, kEndConsumer);
      captured.kept = log.take_kept();
      captured.written = log.take_written();
      captured.number = log.number();
    } catch (...) {
      target.abandon_capture(stream);
      throw;
    }
    captured.recording = target.end_capture(stream, earlier);
  } catch (...) {
    try {
      fill(numbers);
    } catch (...) {  // what happened first is said
    }
    throw;
  }
  captured.memory->end();
  fill(numbers);
  return captured;
}

void Engine::fill(std::span<const NodeRef> numbers) {
  for (const NodeRef& node : numbers) {
    if (!node->is(NodeKind::storage) || node->numel == 0) continue;
    // All of it, as views of numbers that nobody else sees share what they lie in.
    const Storage& storage = *node->storage;
    const Dims all{static_cast<std::int64_t>(storage.bytes() / size_of(node->type))};
    const NodeRef value = Node::constant(device_, *this, all, node->type, node->bits);
    Node* const root = value.get();
    lower({.roots = {&root, 1}});
    launch(kEndConsumer, storage.data());
  }
}

void Engine::settle() noexcept {
  std::vector<std::shared_ptr<void>> left;
  {
    const std::lock_guard lock(mutex_);
    if (left_.empty() || log_ != nullptr) return;
    left.swap(left_);
    try {
      device_.default_stream().synchronize();
    } catch (const Error& error) {
      log(LogLevel::error, std::string("memory of another library is given back: ") + error.what());
    }
  }
}

void Engine::refuse_in_capture(const char* what, const char* instead) const {
  if (log_ == nullptr) return;
  throw CaptureError(std::string(what) + " inside of a capture on " + device_.id() +
                     ": its work is kept for replays, nothing is computed now; " + instead);
}

GraphState::GraphState(Engine& engine, Captured captured)
    : device_(engine.device().shared_from_this()),
      engine_(&engine),
      captured_(std::move(captured)) {
  const std::lock_guard lock(engine.mutex());
  engine.graphs().insert(this);
  device_->counters().graphs.live.fetch_add(1, std::memory_order_relaxed);
}

GraphState::~GraphState() {
  // In a forked child nobody would let the lock go; there is nothing to give back either.
  if (engine_ == nullptr || device_->closed()) return;
  const std::lock_guard lock(engine_->mutex());
  engine_->graphs().erase(this);
  end();
}

void GraphState::end() noexcept {
  device_->counters().graphs.live.fetch_sub(1, std::memory_order_relaxed);
  engine_ = nullptr;
  captured_.recording.reset();
  captured_.kept.clear();
  captured_.memory.reset();
}

Engine& GraphState::engine() const {
  device_->require_open();
  return *engine_;
}

void GraphState::replay() {
  Engine& engine = this->engine();
  const std::lock_guard lock(engine.mutex());
  engine.refuse_in_capture("replay", "replay one graph after the other");
  // What is pending sees what was there before, as with every other write.
  engine.protect({captured_.written, captured_.number});
  captured_.recording->replay(device_->default_stream());
  device_->counters().graphs.replays.fetch_add(1, std::memory_order_relaxed);
}

void GraphState::update(const std::function<void()>& work) {
  // Also if `work` lets go of the last handle.
  const std::shared_ptr<GraphState> self = shared_from_this();
  Engine& engine = this->engine();
  const Settled settled(engine);
  const std::lock_guard lock(engine.mutex());
  Captured next = engine.capture(work, captured_.recording.get());
  const bool in_place = next.recording == nullptr;
  if (in_place) next.recording = std::move(captured_.recording);
  std::swap(captured_, next);
  GraphCounters& counters = device_->counters().graphs;
  (in_place ? counters.updated : counters.rebuilt).fetch_add(1, std::memory_order_relaxed);
}

std::size_t GraphState::size() {
  Engine& engine = this->engine();
  const std::lock_guard lock(engine.mutex());
  engine.refuse_in_capture("size", "ask before or after it");
  return captured_.recording->size();
}

}  // namespace forebay::compute

namespace forebay {
namespace {

compute::GraphState& required(const std::shared_ptr<compute::GraphState>& state) {
  if (state == nullptr) throw Error("a graph that was never captured is used");
  return *state;
}

}  // namespace

void Graph::replay() const { required(state_).replay(); }
void Graph::update(const std::function<void()>& work) { required(state_).update(work); }
std::size_t Graph::size() const { return required(state_).size(); }

Graph capture(Device& device, const std::function<void()>& work) {
  compute::Engine& engine = compute::Engine::of(device);
  const compute::Settled settled(engine);
  const std::lock_guard lock(engine.mutex());
  compute::Captured captured = engine.capture(work, nullptr);
  auto state = std::make_shared<compute::GraphState>(engine, std::move(captured));
  device.counters().graphs.captured.fetch_add(1, std::memory_order_relaxed);
  return Graph(std::move(state));
}

Graph capture(const Stream& stream, const std::function<void()>& work) {
  const std::shared_ptr<Device> device = stream.device();
  if (device == nullptr) throw ClosedError("capture on a stream without a device");
  device->require_open();
  if (const Stream& own = device->default_stream(); stream.id() != own.id()) {
    throw CaptureError("capture on stream " + std::to_string(stream.id()) + " of " + device->id() +
                       ": tensors work on its default_stream, " + std::to_string(own.id()));
  }
  return capture(*device, work);
}

bool capturing(Device& device) {
  compute::Engine& engine = compute::Engine::of(device);
  const std::lock_guard lock(engine.mutex());
  return engine.capture_number() != 0;
}

}  // namespace forebay
