// How long a device takes for what is enqueued on its default stream.
#pragma once

#include <functional>
#include <memory>

#include "forebay/runtime/device.hpp"

namespace forebay::tools {

/// Not thread-safe.
class DeviceTimer {
 public:
  DeviceTimer() = default;
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;
  virtual ~DeviceTimer() = default;
  /// Seconds that the work of `enqueue` took, once it is done: by events of the device on CUDA, by
  /// the clock on the host. Throws what `enqueue` throws, DriverError.
  [[nodiscard]] virtual double seconds(const std::function<void()>& enqueue) = 0;
};

[[nodiscard]] std::unique_ptr<DeviceTimer> make_device_timer(Device& device);

}  // namespace forebay::tools
