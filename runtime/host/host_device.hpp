// The host as a device.
#pragma once

#include <memory>

#include "forebay/runtime/device.hpp"
#include "runtime/host/host_source.hpp"
#include "runtime/host/host_timeline.hpp"

namespace forebay::host {

/// The host as a device: one pool, which is also its pinned pool, and streams that run inline.
/// Thread safety: as Device.
class HostDevice final : public Device {
 public:
  /// Throws ConfigError and DriverError as Pool does.
  [[nodiscard]] static std::shared_ptr<HostDevice> open(const Config& config);
  ~HostDevice() override;

  [[nodiscard]] Stream create_stream() override;
  void synchronize() override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t driver_calls() const noexcept override;

 private:
  HostDevice(DeviceInfo info, Config config);
  void shut_down() noexcept override;
  [[nodiscard]] Stream make_stream(bool retires);

  std::shared_ptr<HostSource> source_;
  std::shared_ptr<HostTimeline> timeline_;
};

}  // namespace forebay::host
