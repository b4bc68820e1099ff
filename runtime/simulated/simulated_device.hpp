// A device whose memory is only numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "forebay/pool/lagged_timeline.hpp"
#include "forebay/pool/simulated.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::simulated {

/// A device for replaying traces without one: its memory calls cost what they cost on the GPU that
/// the cost model was measured on, and points pass some events after they were recorded.
/// Thread safety: as Device.
class SimulatedDevice final : public Device {
 public:
  /// Has as much memory as that GPU, or as `config.pool.capacity` if that is more. Throws
  /// ConfigError and DriverError as Pool does.
  [[nodiscard]] static std::shared_ptr<SimulatedDevice> open(const Config& config,
                                                             std::uint64_t event_lag);
  ~SimulatedDevice() override;

  [[nodiscard]] pool::LaggedTimeline& timeline() noexcept { return *timeline_; }

  [[nodiscard]] Stream create_stream() override;
  void synchronize() override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t driver_calls() const noexcept override;

 private:
  SimulatedDevice(DeviceInfo info, Config config, std::uint64_t event_lag);
  void shut_down() noexcept override;

  std::shared_ptr<pool::SimulatedSource> source_;
  std::shared_ptr<pool::LaggedTimeline> timeline_;
};

}  // namespace forebay::simulated
