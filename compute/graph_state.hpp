// What a graph's handles share, and what a capture gives.
#pragma once

#include <memory>
#include <vector>

#include "compute/capture_memory.hpp"
#include "compute/engine.hpp"

namespace forebay::compute {

/// A finished capture.
struct Captured {
  std::unique_ptr<CaptureMemory> memory;       // its arenas
  std::vector<std::shared_ptr<Storage>> kept;  // what it uses beside them
  std::vector<Extent> written;                 // what each replay writes beside them
  std::uint64_t number = 0;                    // of the capture
  std::unique_ptr<Recording> recording;        // null if an earlier one holds the work now
};

/// Thread safety: any thread; the engine's mutex guards everything. Invariant: `engine_` is null
/// once the device has closed, and nothing is held then.
class GraphState : public std::enable_shared_from_this<GraphState> {
 public:
  /// REQUIRES: `captured` has a recording.
  GraphState(Engine& engine, Captured captured);
  ~GraphState();
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;

  void replay();
  void update(const std::function<void()>& work);
  [[nodiscard]] std::size_t size();
  /// The device closes: everything is given back. REQUIRES: the engine's mutex.
  void end() noexcept;

 private:
  /// The engine. Throws ClosedError.
  [[nodiscard]] Engine& engine() const;

  std::shared_ptr<Device> device_;
  Engine* engine_;
  Captured captured_;
};

}  // namespace forebay::compute
