#include "tools/forebay/simulated_device.hpp"

#include <algorithm>
#include <utility>

#include "forebay/runtime/log.hpp"

namespace forebay::tools {
namespace {

DeviceInfo describe(const Config& config) {
  DeviceInfo info;
  info.name = "simulated";
  info.architecture = "none";
  info.total_bytes = std::max(SimulatedDevice::kTotal, config.pool.capacity);
  return info;
}

}  // namespace

std::shared_ptr<SimulatedDevice> SimulatedDevice::open(Config config) {
  // The usual eight times the capacity would be more addresses than a process has.
  if (config.pool.address_range == 0) {
    config.pool.address_range = 2 * std::max(kTotal, config.pool.capacity);
  }
  // Handles as large as real memory wants them would be a million.
  if (config.pool.capacity == 0 && config.pool.handle_size == 0) {
    config.pool.handle_size = kTotal / 1024;
  }
  std::shared_ptr<SimulatedDevice> device(new SimulatedDevice(std::move(config)));
  device->default_stream_ = device->make_stream();
  return device;
}

SimulatedDevice::SimulatedDevice(Config config)
    : Device(describe(config), config),
      source_(std::make_shared<pool::SimulatedSource>(
          pool::SimulatedSource::Options{.total = info_.total_bytes})),
      timeline_(std::make_shared<host::HostTimeline>()) {
  pool_ = pool::Pool(source_, timeline_, config_.pool,
                     [](std::string_view line) { log(LogLevel::warn, line); });
  pinned_ = pool_;
  config_.pool = pool_.config();
}

SimulatedDevice::~SimulatedDevice() { close(); }

Stream SimulatedDevice::make_stream() {
  auto state = std::make_shared<Stream::State>();
  state->id = timeline_->add_stream();
  return Stream(std::move(state));
}

Stream SimulatedDevice::create_stream() {
  require_open();
  return make_stream();
}

void SimulatedDevice::synchronize() { require_open(); }

std::size_t SimulatedDevice::free_bytes() const noexcept { return source_->free_bytes(); }

}  // namespace forebay::tools
