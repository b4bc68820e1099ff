#include "runtime/host/host_timeline.hpp"

namespace forebay::host {

using pool::Point;
using pool::StreamId;

StreamId HostTimeline::add_stream() noexcept { return next_.fetch_add(1); }

bool HostTimeline::knows(StreamId stream) const noexcept {
  return stream >= kFirstStream && stream < next_.load(std::memory_order_relaxed);
}

bool HostTimeline::capturing(StreamId) const noexcept { return false; }

bool HostTimeline::record(StreamId stream, Point) noexcept { return knows(stream); }

bool HostTimeline::passed(StreamId stream, Point) noexcept { return knows(stream); }

bool HostTimeline::wait(StreamId waiter, StreamId stream, Point) noexcept {
  return knows(waiter) && knows(stream);
}

bool HostTimeline::synchronize(StreamId stream, Point) noexcept { return knows(stream); }

void HostTimeline::forget(StreamId, Point) noexcept {}

}  // namespace forebay::host
