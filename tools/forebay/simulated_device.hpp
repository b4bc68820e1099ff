// A device with no memory behind it, for the pool alone.
#pragma once

#include <memory>

#include "forebay/pool/simulated.hpp"
#include "forebay/runtime/device.hpp"
#include "runtime/host/host_timeline.hpp"

namespace forebay::tools {

/// Throws ConfigError for a key that needs memory which is there.
void require_simulable(const Config& config);

/// Its pool hands out addresses that nothing may touch, from a simulated source; whatever was given
/// to a stream is done at once. So any number of blocks of any size fits on any machine.
class SimulatedDevice final : public Device {
 public:
  /// Bytes of the device where the configuration says nothing: 16 TiB.
  static constexpr std::size_t kTotal = std::size_t{16} << 40;

  /// Throws ConfigError.
  [[nodiscard]] static std::shared_ptr<SimulatedDevice> open(Config config);
  ~SimulatedDevice() override;

  [[nodiscard]] Stream create_stream() override;
  void synchronize() override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t driver_calls() const noexcept override { return 0; }

 private:
  explicit SimulatedDevice(Config config);
  void shut_down() noexcept override {}
  [[nodiscard]] Stream make_stream();

  std::shared_ptr<pool::SimulatedSource> source_;
  std::shared_ptr<host::HostTimeline> timeline_;
};

}  // namespace forebay::tools
