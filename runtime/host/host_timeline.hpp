// Time on the host: streams run inline, so every point has passed when it is asked about.
#pragma once

#include <atomic>

#include "forebay/pool/timeline.hpp"

namespace forebay::host {

/// Numbers the host's streams. Work given to a stream is done before the call that gave it
/// returns; a point therefore has passed as soon as it is recorded, and nobody ever waits.
/// Thread safety: any thread.
class HostTimeline final : public pool::Timeline {
 public:
  /// Ids of host streams start here, beyond what a driver counts up to, so that a block given back
  /// on a stream of another device is seen.
  static constexpr pool::StreamId kFirstStream = pool::StreamId{1} << 32;

  /// The id of a new stream; ids are never used again.
  [[nodiscard]] pool::StreamId add_stream() noexcept;

  [[nodiscard]] bool knows(pool::StreamId stream) const noexcept override;
  [[nodiscard]] bool capturing(pool::StreamId stream) const noexcept override;
  bool record(pool::StreamId stream, pool::Point point) noexcept override;
  [[nodiscard]] bool passed(pool::StreamId stream, pool::Point point) noexcept override;
  bool wait(pool::StreamId waiter, pool::StreamId stream, pool::Point point) noexcept override;
  bool synchronize(pool::StreamId stream, pool::Point point) noexcept override;
  void forget(pool::StreamId stream, pool::Point point) noexcept override;

 private:
  std::atomic<pool::StreamId> next_{kFirstStream};
};

}  // namespace forebay::host
