// The Runtime: finds devices, opens them at first use, and ends them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/runtime/config.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay {

/// One line of `forebay devices`.
struct DeviceReport {
  std::string id;    ///< "host", "cuda:0"
  std::string name;  ///< the device's name, empty if it could not be asked
  bool usable = false;
  std::string detail;  ///< memory and architecture, or why it is not usable
};

/// Owns devices. A cheap copyable handle; the last one closes it.
/// Thread safety: every call may be made from any thread. A forked child may not use it: every call
/// throws ClosedError there.
class Runtime {
 public:
  /// No device is opened yet. Throws ConfigError.
  [[nodiscard]] static Runtime create(const Config& config = {});

  /// "host", "cuda" (the first), "cuda:N", or "auto": the first usable CUDA device, else the host.
  /// Opens it at first use. Throws DeviceError saying what is there instead, ClosedError, and what
  /// functions of `when_opened` throw, which leaves the device closed.
  [[nodiscard]] Device& device(std::string_view id = "auto");
  /// What can be found on this machine, without opening a context; never throws for a missing
  /// driver.
  [[nodiscard]] std::vector<DeviceReport> devices() const;
  /// Closes every device; tensors that are left throw ClosedError from then on. Twice is fine.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept;
  [[nodiscard]] const Config& config() const noexcept;

  class Impl;

 private:
  explicit Runtime(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace forebay
