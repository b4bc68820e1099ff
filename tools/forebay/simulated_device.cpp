#include "tools/forebay/simulated_device.hpp"

#include <algorithm>
#include <utility>

#include "forebay/pool/error.hpp"
#include "runtime/make_pool.hpp"

namespace forebay::tools {
namespace {

DeviceInfo describe(const Config& config) {
  DeviceInfo info;
  info.kind = DeviceKind::simulated;
  info.name = "simulated";
  info.architecture = "none";
  info.total_bytes = std::max(SimulatedDevice::kTotal, config.pool.capacity);
  return info;
}

}  // namespace

void require_simulable(const Config& config) {
  const auto refuse = [](const char* pointer, const char* off) {
    throw ConfigError(std::string(pointer) + ": must be " + off +
                      " on the simulated device, which has no memory to write or read; give "
                      "--device host or --device cuda");
  };
  if (config.pool.debug_fill) refuse("/pool/debug/fill", "false");
  if (config.pool.debug_canary > 0) refuse("/pool/debug/canary", "0");
}

std::shared_ptr<SimulatedDevice> SimulatedDevice::open(Config config) {
  require_simulable(config);
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
  pool_ = make_pool("pool", source_, timeline_, config_.pool);
  pinned_ = pool_;
  config_.pool = pool_.config();
}

SimulatedDevice::~SimulatedDevice() { close(); }

Stream SimulatedDevice::make_stream() {
  auto state = std::make_shared<Stream::State>();
  state->id = timeline_->add_stream();
  state->device = weak_from_this();
  return Stream(std::move(state));
}

Stream SimulatedDevice::create_stream() {
  require_open();
  return make_stream();
}

void SimulatedDevice::synchronize() { require_open(); }

std::size_t SimulatedDevice::free_bytes() const noexcept { return source_->free_bytes(); }

}  // namespace forebay::tools
