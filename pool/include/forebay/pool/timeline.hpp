// The pool's view of time: points on streams, whether they have passed, and waiting for them.
#pragma once

#include <cstdint>

namespace forebay::pool {

/// The unique id of a stream (`cuStreamGetId`), never its handle: the driver reuses handles.
using StreamId = std::uint64_t;

/// A place in a stream's work. The pool numbers the points of each stream 1, 2, 3 …
using Point = std::uint64_t;

/// Time as the pool sees it. A failed call answers false; the pool then treats the point as not
/// passed, which is always safe.
/// Thread safety: calls on different streams may run concurrently; the pool never makes two calls
/// about one stream at a time.
class Timeline {
 public:
  Timeline() = default;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  virtual ~Timeline() = default;

  /// Whether `stream` is a stream of this timeline's device.
  [[nodiscard]] virtual bool knows(StreamId stream) const noexcept = 0;
  /// Whether work is being captured on `stream` now; points are then neither recorded nor queried.
  [[nodiscard]] virtual bool capturing(StreamId stream) const noexcept = 0;
  /// Marks `point` after everything that `stream` was given so far. Points of one stream are
  /// recorded in increasing order.
  virtual bool record(StreamId stream, Point point) noexcept = 0;
  /// Whether everything up to the recorded `point` is done. Passed points stay passed.
  [[nodiscard]] virtual bool passed(StreamId stream, Point point) noexcept = 0;
  /// Work given to `waiter` from now on starts after `point` of `stream`; the host does not wait.
  virtual bool wait(StreamId waiter, StreamId stream, Point point) noexcept = 0;
  /// The host waits until `point` has passed.
  virtual bool synchronize(StreamId stream, Point point) noexcept = 0;
  /// The pool will never again ask about points of `stream` up to `point`; their events are free.
  virtual void forget(StreamId stream, Point point) noexcept = 0;
};

}  // namespace forebay::pool
