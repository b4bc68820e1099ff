// The memory of one graph: an arena in each of the device's pools.
#pragma once

#include <memory>

#include "forebay/runtime/device.hpp"

namespace forebay::compute {

/// From its making until `end`, the default stream of the device allocates from the arenas; they
/// stay until this goes, however many of their blocks are free.
class CaptureMemory {
 public:
  /// Throws Error if the stream has an arena already, ClosedError.
  explicit CaptureMemory(Device& device) : device_(device.shared_from_this()) {
    arena_ = device.pool().begin_capture(stream());
    if (!has_pinned_pool()) return;
    try {
      pinned_arena_ = device.pinned_pool().begin_capture(stream());
    } catch (...) {
      device.pool().drop_arena(arena_);
      throw;
    }
  }
  ~CaptureMemory() {
    if (device_->closed()) return;
    device_->pool().drop_arena(arena_);
    if (has_pinned_pool()) device_->pinned_pool().drop_arena(pinned_arena_);
  }
  CaptureMemory(const CaptureMemory&) = delete;
  CaptureMemory& operator=(const CaptureMemory&) = delete;

  /// The capture is over.
  void end() noexcept {
    device_->pool().end_capture(stream());
    if (has_pinned_pool()) device_->pinned_pool().end_capture(stream());
  }

 private:
  [[nodiscard]] pool::StreamId stream() const noexcept { return device_->default_stream().id(); }
  /// The host has one pool for both.
  [[nodiscard]] bool has_pinned_pool() const noexcept {
    return device_->info().kind == DeviceKind::cuda;
  }

  std::shared_ptr<Device> device_;
  pool::ArenaId arena_ = 0;
  pool::ArenaId pinned_arena_ = 0;
};

}  // namespace forebay::compute
