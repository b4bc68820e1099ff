#include "runtime/simulated/simulated_device.hpp"

#include <algorithm>
#include <utility>

#include "runtime/make_pool.hpp"

namespace forebay::simulated {

namespace {

/// Of the NVIDIA H200 that the cost model was measured on.
constexpr std::size_t kTotalBytes = 150'754'820'096;

struct SimulatedStream final : Stream::State {
  SimulatedStream(std::weak_ptr<Device> of, pool::StreamId stream) {
    device = std::move(of);
    id = stream;
  }
};

DeviceInfo describe(const Config& config) {
  DeviceInfo info;
  info.kind = DeviceKind::simulated;
  info.name = "simulated NVIDIA H200";
  info.architecture = "none";
  info.total_bytes = std::max(kTotalBytes, config.pool.capacity);
  return info;
}

}  // namespace

std::shared_ptr<SimulatedDevice> SimulatedDevice::open(const Config& config,
                                                       std::uint64_t event_lag) {
  std::shared_ptr<SimulatedDevice> device(new SimulatedDevice(describe(config), config, event_lag));
  device->default_stream_ = device->create_stream();
  return device;
}

SimulatedDevice::SimulatedDevice(DeviceInfo info, Config config, std::uint64_t event_lag)
    : Device(std::move(info), std::move(config)),
      source_(std::make_shared<pool::SimulatedSource>(
          pool::SimulatedSource::Options{.total = info_.total_bytes})),
      timeline_(std::make_shared<pool::LaggedTimeline>(event_lag)) {
  pool_ = make_pool("pool", source_, timeline_, config_.pool);
  pinned_ = pool_;
  config_.pool = pool_.config();
}

SimulatedDevice::~SimulatedDevice() { close(); }

Stream SimulatedDevice::create_stream() {
  require_open();
  return Stream(std::make_shared<SimulatedStream>(weak_from_this(), timeline_->add_stream()));
}

void SimulatedDevice::synchronize() { require_open(); }

std::size_t SimulatedDevice::free_bytes() const noexcept { return source_->free_bytes(); }

std::uint64_t SimulatedDevice::driver_calls() const noexcept {
  return pool_ ? pool_.stats().driver_calls() : 0;
}

void SimulatedDevice::shut_down() noexcept {}

}  // namespace forebay::simulated
