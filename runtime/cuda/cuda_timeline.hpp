// Time on a CUDA device: points are events, which are recycled.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "forebay/pool/timeline.hpp"
#include "forebay/runtime/counters.hpp"
#include "runtime/cuda/context.hpp"

namespace forebay::cuda {

/// Serves one pool: two pools number the points of a stream differently.
/// Thread safety: any thread; calls about different streams do not wait for each other's driver
/// calls.
///
/// Invariants:
/// 1. The points of a stream are in increasing order, each with an event of its own.
/// 2. An event is either in one stream's points or in `spare_`; there are never more than the most
///    points that were outstanding at once.
/// 3. A stream that was removed keeps its points until they have passed or are forgotten.
/// 4. No call of it ends a capture.
class CudaTimeline final : public pool::Timeline {
 public:
  /// `events` counts the events that exist; it must live until `close`.
  CudaTimeline(std::shared_ptr<const Context> context, Counter& events);
  ~CudaTimeline() override;

  void add(pool::StreamId id, CUstream stream);
  /// The stream is about to be destroyed; what was recorded on it still passes.
  void remove(pool::StreamId id) noexcept;
  /// The driver's handle of a stream, null for one that is not there or was removed.
  [[nodiscard]] CUstream native(pool::StreamId id) const noexcept;
  /// Destroys every event and forgets every stream. Twice is fine.
  void close() noexcept;

  [[nodiscard]] bool knows(pool::StreamId stream) const noexcept override;
  [[nodiscard]] bool capturing(pool::StreamId stream) const noexcept override;
  bool record(pool::StreamId stream, pool::Point point) noexcept override;
  /// A stream that is gone and whose points have passed answers true to every point.
  [[nodiscard]] bool passed(pool::StreamId stream, pool::Point point) noexcept override;
  bool wait(pool::StreamId waiter, pool::StreamId stream, pool::Point point) noexcept override;
  bool synchronize(pool::StreamId stream, pool::Point point) noexcept override;
  void forget(pool::StreamId stream, pool::Point point) noexcept override;

 private:
  struct Mark {
    pool::Point point;
    CUevent event;
  };
  struct Lane {
    std::mutex mutex;
    std::atomic<CUstream> stream{nullptr};  // null once removed
    std::deque<Mark> marks;                 // mutex; not known to have passed
    pool::Point passed = 0;                 // mutex; everything up to here has passed
  };

  [[nodiscard]] std::shared_ptr<Lane> find(pool::StreamId id) const noexcept;
  [[nodiscard]] static const Mark* first_at(const Lane& lane, pool::Point point) noexcept;
  [[nodiscard]] CUevent take_event() noexcept;
  void drop_up_to(Lane& lane, pool::Point point) noexcept;
  void erase_if_done(pool::StreamId id) noexcept;

  std::shared_ptr<const Context> context_;
  Counter& events_;
  mutable std::shared_mutex lanes_mutex_;
  std::unordered_map<pool::StreamId, std::shared_ptr<Lane>> lanes_;  // lanes_mutex_
  std::mutex spare_mutex_;
  std::vector<CUevent> spare_;  // spare_mutex_
};

}  // namespace forebay::cuda
