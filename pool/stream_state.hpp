// What a pool keeps for each stream: counters, the numbering of points, and what it knows of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "forebay/pool/stats.hpp"
#include "forebay/pool/timeline.hpp"
#include "pool/gauge.hpp"
#include "pool/small_cache.hpp"
#include "pool/span_cache.hpp"
#include "pool/span_engine.hpp"
#include "pool/spin_mutex.hpp"

namespace forebay::pool {

/// The rungs of the ladder, in the order of LadderStats.
enum class Rung : std::uint8_t { cache, completed, map, steal, remap, trim, callback, wait };
inline constexpr std::size_t kRungs = 8;

/// What happened to blocks that were allocated on one stream.
struct StreamCounters {
  std::uint64_t requested_in = 0, requested_out = 0;  // bytes
  std::uint64_t allocated_in = 0, allocated_out = 0;  // bytes
  std::uint64_t allocations = 0, frees = 0, failed = 0;
  std::array<std::uint64_t, kRungs> served{};  // allocations by rung
  // Blocks that are no slab's and no buddy's, and their bytes: what came less what went on this
  // stream, whoever allocated it, so only sums over all streams mean something (modulo 2^64).
  std::uint64_t span_blocks = 0, span_bytes = 0;

  void add(const StreamCounters& other) noexcept;
};

/// Points are so many times rarer at most while nobody wants them.
inline constexpr std::uint32_t kMostCalm = 256;

using StateLock = std::unique_lock<SpinMutex>;
/// One stream of a pool, or one capture arena. Records are reused, never destroyed before the pool,
/// so that a stale pointer to one is harmless: `stream` and `open` say what it is now.
struct alignas(64) StreamState {
  /// Points under way, at most: beyond them older ones are dropped, and what they covered waits for
  /// a later one. This bounds the events that a stream can hold.
  static constexpr std::size_t kMaxPoints = 64;

  /// With room for all points that it will have, so that recording one needs no host memory.
  explicit StreamState(Owner number) : owner(number) { recorded.reserve(kMaxPoints); }

  const Owner owner;

  mutable SpinMutex mutex;
  // mutex guards what follows.
  std::atomic<StreamId> stream{0};  // written under both mutexes
  bool open = false;
  bool retiring = false;                     // waits for its last points, then closes
  bool is_arena = false;                     // serves a capture of `stream`
  std::atomic<StreamState*> arena{nullptr};  // where the stream allocates while it captures
  Point next_point = 1;                      // what the next free carries
  std::uint32_t span_calls = 0;              // of the engine since the last tick
  std::uint64_t uncovered = 0;               // frees that carry next_point
  std::uint64_t record_from = 0;             // … from so many on a point is thought of again
  // How badly others want the next point: see Pool::Impl::point_pays.
  std::uint32_t calm = 1;             // by how many times points are rarer than configured
  bool wanted = false;                // what waits for it lies in no cache of this stream
  std::uint64_t searches = 0;         // of the whole pool, when it was last thought of
  std::uint64_t drained = 0;          // bytes of spans that others freed since its last miss
  std::uint64_t pending_covered = 0;  // bytes pending in the caches at the last point
  StreamCounters counters;
  DatedDelta requested, allocated;
  SmallCache cache;
  SpanCache spans;

  /// Bytes that the caches may hand out again, but nobody else.
  [[nodiscard]] std::uint64_t cached() const noexcept { return cache.pending() + spans.pending(); }

  std::mutex time_mutex;  // before mutex
  // time_mutex guards what follows.
  struct RecordedPoint {
    Point point;
    std::uint64_t sequence;  // among all points of the pool
  };
  std::vector<RecordedPoint> recorded;  // not known to have passed, oldest first
  std::atomic<bool> under_way{false};   // whether there are any; for whoever lacks the lock

  /// An arena in use: what it frees stays its own.
  std::atomic<bool> keeps{false};
  /// Who has what an arena had that has ended, and from which of its points on that is everybody's;
  /// the engine lock guards both.
  StreamState* heir = nullptr;
  Point heir_point = 0;
  /// Bytes freed on this stream whose blocks wait for other streams too; the engine lock guards it.
  std::uint64_t deferred = 0;
  /// Such blocks that were allocated on this stream; the engine lock guards it.
  std::uint32_t awaited = 0;

  std::atomic<Point> passed{0};
  std::atomic<std::uint64_t> points_recorded{0}, points_queried{0}, waits{0};
};

/// The stream that a thread used last, for a few pools. A slot may outlive its pool: the serial
/// number says whose it is, and no serial comes twice.
struct ThreadSlot {
  std::uint64_t serial = 0;
  StreamId stream = 0;
  StreamState* state = nullptr;
};
inline constexpr std::size_t kThreadSlots = 8;
inline constinit thread_local ThreadSlot thread_slots[kThreadSlots];

}  // namespace forebay::pool
