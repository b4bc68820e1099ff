// Replaying a trace on a pool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/pool/trace.hpp"

namespace forebay::pool {

/// A block while a replay has it.
struct ReplayBlock {
  void* pointer = nullptr;
  std::uint64_t size = 0;    ///< bytes requested
  std::uint32_t number = 0;  ///< the block's ordinal in the trace
  std::uint32_t stream = 0;  ///< the ordinal of the stream that it was allocated on
  bool live = false;
};

/// Sees each event of a replay. What it does counts as a part of the event's time. Streams are
/// ordinals of the trace.
class ReplayWatcher {
 public:
  ReplayWatcher() = default;
  ReplayWatcher(const ReplayWatcher&) = delete;
  ReplayWatcher& operator=(const ReplayWatcher&) = delete;
  virtual ~ReplayWatcher() = default;

  /// An event begins.
  virtual void begin() = 0;
  /// The block was allocated.
  virtual void allocated(const ReplayBlock& block) = 0;
  /// The pool is about to be told that `stream` uses the block.
  virtual void used(const ReplayBlock& block, std::uint32_t stream) = 0;
  /// The block is about to be freed on `stream`.
  virtual void freeing(const ReplayBlock& block, std::uint32_t stream) = 0;
};

/// How far a pass came.
struct ReplayOutcome {
  bool completed = false;
  std::uint64_t failed_event = 0;  ///< index of the event that failed
  std::uint64_t live_bytes = 0;    ///< requested bytes live when the pass ended
  std::string error;               ///< one line
  std::string report;              ///< of OutOfMemory, else empty
};

/// Plays a trace on a pool, as often as one likes. It allocates nothing while a pass runs, so what
/// the pool does is all that a pass times.
/// Not thread-safe.
class Replay {
 public:
  /// Events whose time is taken together: one clock reading costs about as much as an event.
  static constexpr std::uint64_t kBatch = 64;

  /// `streams[n]` is the pool's stream for the trace's stream n. `trace` outlives the replay.
  /// REQUIRES: as many streams as the trace has.
  Replay(const Trace& trace, Pool pool, std::vector<StreamId> streams,
         ReplayWatcher* watcher = nullptr);

  /// Plays every event once, or up to the first that fails. Blocks that the trace never frees stay.
  ReplayOutcome pass();
  /// Frees what the last pass left live, each block on the stream that it was allocated on. The
  /// watcher sees that, unless it is to be spared.
  void free_rest(bool watched = true);
  /// Nanoseconds an event, one value for each whole batch of all passes.
  [[nodiscard]] const std::vector<double>& batch_ns() const noexcept { return batch_ns_; }

 private:
  void play(const TraceEvent& event);

  const Trace& trace_;
  Pool pool_;
  const std::vector<StreamId> streams_;
  ReplayWatcher* const watcher_;
  std::vector<ReplayBlock> blocks_;
  std::uint64_t live_bytes_ = 0;
  std::vector<double> batch_ns_;
};

}  // namespace forebay::pool
