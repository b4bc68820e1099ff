// A stream: an order of work on a device.
#pragma once

#include <memory>

#include "forebay/pool/timeline.hpp"

namespace forebay {

class Device;

/// A cheap handle on a stream of a device; copies mean the same stream. The device ends it when it
/// closes, or when the last handle of a created stream is gone.
/// Thread safety: any thread.
class Stream {
 public:
  Stream() = default;
  /// The unique id, by which the pool knows the stream.
  [[nodiscard]] pool::StreamId id() const noexcept { return state_ == nullptr ? 0 : state_->id; }
  /// `CUstream` on a CUDA device, null on the host.
  [[nodiscard]] void* native() const noexcept {
    return state_ == nullptr ? nullptr : state_->native;
  }
  /// The device that it is of; null for a handle without one, and once that is gone.
  [[nodiscard]] std::shared_ptr<Device> device() const noexcept {
    return state_ == nullptr ? nullptr : state_->device.lock();
  }
  /// Waits until everything given to the stream is done. Throws DriverError, ClosedError.
  void synchronize() const;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// What a device makes of it; `synchronize` of the base is the host's: nothing to wait for.
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;
    virtual void synchronize() const {}
    pool::StreamId id = 0;
    void* native = nullptr;
    std::weak_ptr<Device> device;
  };
  explicit Stream(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace forebay
