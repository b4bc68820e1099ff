#include "runtime/cuda/cuda_timeline.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace forebay::cuda {

using pool::Point;
using pool::StreamId;

CudaTimeline::CudaTimeline(std::shared_ptr<const Context> context, Counter& events)
    : context_(std::move(context)), events_(events) {}

CudaTimeline::~CudaTimeline() = default;

void CudaTimeline::add(StreamId id, CUstream stream) {
  auto lane = std::make_shared<Lane>();
  lane->stream = stream;
  const std::unique_lock lock(lanes_mutex_);
  lanes_[id] = std::move(lane);
}

void CudaTimeline::remove(StreamId id) noexcept {
  if (const auto lane = find(id)) {
    lane->stream = nullptr;
    erase_if_done(id);
  }
}

CUstream CudaTimeline::native(StreamId id) const noexcept {
  const auto lane = find(id);
  return lane != nullptr ? lane->stream.load() : nullptr;
}

void CudaTimeline::close() noexcept {
  const std::unique_lock lanes_lock(lanes_mutex_);
  const std::lock_guard spare_lock(spare_mutex_);
  for (const auto& [id, lane] : lanes_) {
    for (const Mark& mark : lane->marks) {
      spare_.push_back(mark.event);
    }
  }
  lanes_.clear();
  if (!spare_.empty()) {
    events_.fetch_sub(spare_.size(), std::memory_order_relaxed);
  }
  if (context_->enter()) {
    for (CUevent event : spare_) {
      context_->api().cuEventDestroy(event);
    }
  }
  spare_.clear();
}

bool CudaTimeline::knows(StreamId stream) const noexcept {
  const std::shared_lock lock(lanes_mutex_);
  const auto found = lanes_.find(stream);
  return found != lanes_.end() && found->second->stream != nullptr;
}

bool CudaTimeline::capturing(StreamId stream) const noexcept {
  const auto lane = find(stream);
  if (!lane || lane->stream == nullptr || !context_->enter()) {
    return false;
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return context_->api().cuStreamIsCapturing(lane->stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool CudaTimeline::record(StreamId stream, Point point) noexcept {
  const auto lane = find(stream);
  if (!lane || !context_->enter()) {
    return false;
  }
  const std::lock_guard lock(lane->mutex);
  if (lane->stream == nullptr) {
    return false;
  }
  const CUevent event = take_event();
  if (event == nullptr) {
    return false;
  }
  bool recorded = false;
  try {
    lane->marks.push_back({point, event});
    recorded = context_->api().cuEventRecord(event, lane->stream) == CUDA_SUCCESS;
    if (!recorded) lane->marks.pop_back();
  } catch (const std::bad_alloc&) {  // then nothing was recorded
  }
  if (!recorded) {
    const std::lock_guard spare_lock(spare_mutex_);
    spare_.push_back(event);
  }
  return recorded;
}

bool CudaTimeline::passed(StreamId stream, Point point) noexcept {
  const auto lane = find(stream);
  if (!lane) {
    return true;
  }
  {
    const std::lock_guard lock(lane->mutex);
    if (point <= lane->passed) {
      return true;
    }
    const Mark* mark = first_at(*lane, point);
    if (mark == nullptr || !context_->enter()) {
      return false;
    }
    const RelaxedCapture relaxed(context_->api());
    if (context_->api().cuEventQuery(mark->event) != CUDA_SUCCESS) {
      return false;
    }
    lane->passed = mark->point;
    drop_up_to(*lane, mark->point);
  }
  erase_if_done(stream);
  return true;
}

bool CudaTimeline::wait(StreamId waiter, StreamId stream, Point point) noexcept {
  if (waiter == stream) {
    return true;
  }
  const auto waiting = find(waiter);
  const auto lane = find(stream);
  if (!lane) {
    return true;
  }
  if (!waiting || waiting->stream == nullptr || !context_->enter()) {
    return false;
  }
  const std::lock_guard lock(lane->mutex);
  if (point <= lane->passed) {
    return true;
  }
  const Mark* mark = first_at(*lane, point);
  return mark != nullptr &&
         context_->api().cuStreamWaitEvent(waiting->stream, mark->event, CU_EVENT_WAIT_DEFAULT) ==
             CUDA_SUCCESS;
}

bool CudaTimeline::synchronize(StreamId stream, Point point) noexcept {
  const auto lane = find(stream);
  if (!lane) {
    return true;
  }
  {
    const std::lock_guard lock(lane->mutex);
    if (point <= lane->passed) {
      return true;
    }
    const Mark* mark = first_at(*lane, point);
    if (mark == nullptr || !context_->enter()) {
      return false;
    }
    const RelaxedCapture relaxed(context_->api());
    if (context_->api().cuEventSynchronize(mark->event) != CUDA_SUCCESS) {
      return false;
    }
    lane->passed = mark->point;
    drop_up_to(*lane, mark->point);
  }
  erase_if_done(stream);
  return true;
}

void CudaTimeline::forget(StreamId stream, Point point) noexcept {
  const auto lane = find(stream);
  if (!lane) {
    return;
  }
  {
    const std::lock_guard lock(lane->mutex);
    drop_up_to(*lane, point);
  }
  erase_if_done(stream);
}

std::shared_ptr<CudaTimeline::Lane> CudaTimeline::find(StreamId id) const noexcept {
  const std::shared_lock lock(lanes_mutex_);
  const auto found = lanes_.find(id);
  return found != lanes_.end() ? found->second : nullptr;
}

const CudaTimeline::Mark* CudaTimeline::first_at(const Lane& lane, Point point) noexcept {
  const auto found = std::lower_bound(lane.marks.begin(), lane.marks.end(), point,
                                      [](const Mark& mark, Point at) { return mark.point < at; });
  return found != lane.marks.end() ? &*found : nullptr;
}

CUevent CudaTimeline::take_event() noexcept {
  {
    const std::lock_guard lock(spare_mutex_);
    if (!spare_.empty()) {
      const CUevent event = spare_.back();
      spare_.pop_back();
      return event;
    }
    // Room for all of them, so that giving one back never allocates.
    try {
      const std::size_t all = events_.load(std::memory_order_relaxed) + 1;
      if (spare_.capacity() < all) spare_.reserve(2 * all);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  CUevent event = nullptr;
  if (context_->api().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return nullptr;
  }
  events_.fetch_add(1, std::memory_order_relaxed);
  return event;
}

void CudaTimeline::drop_up_to(Lane& lane, Point point) noexcept {
  // An event may be recorded again while a stream still waits for it: the wait was for what the
  // event stood for when it was given.
  const std::lock_guard lock(spare_mutex_);
  while (!lane.marks.empty() && lane.marks.front().point <= point) {
    spare_.push_back(lane.marks.front().event);
    lane.marks.pop_front();
  }
}

void CudaTimeline::erase_if_done(StreamId id) noexcept {
  const auto lane = find(id);
  if (!lane) {
    return;
  }
  {
    const std::lock_guard lock(lane->mutex);
    if (lane->stream != nullptr || !lane->marks.empty()) {
      return;
    }
  }
  const std::unique_lock lock(lanes_mutex_);
  lanes_.erase(id);
}

}  // namespace forebay::cuda
