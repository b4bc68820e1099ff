#include "runtime/host/host_device.hpp"

#include <utility>

#include "runtime/host/host_memory.hpp"
#include "runtime/host/host_tools.hpp"
#include "runtime/make_pool.hpp"

namespace forebay::host {

namespace {

/// A stream of the host. When the last handle of a created one is gone, the pool forgets it.
class HostStream final : public Stream::State {
 public:
  HostStream(std::weak_ptr<Device> of, pool::StreamId stream, bool retires) : retires_(retires) {
    device = std::move(of);
    id = stream;
  }
  ~HostStream() override {
    if (!retires_) return;
    const auto alive = device.lock();
    if (alive != nullptr && !alive->closed()) alive->pool().retire_stream(id);
  }
  void synchronize() const override {
    const auto alive = device.lock();
    if (alive == nullptr) throw ClosedError("the device host was closed");
    alive->synchronize();
  }

 private:
  bool retires_;
};

DeviceInfo describe() {
  DeviceInfo info;
  info.kind = DeviceKind::host;
  info.name = processor_name();
  info.architecture = architecture();
  info.multiprocessors = cores();
  info.total_bytes = total_memory();
  return info;
}

}  // namespace

std::shared_ptr<HostDevice> HostDevice::open(const Config& config) {
  std::shared_ptr<HostDevice> device(new HostDevice(describe(), config));
  device->default_stream_ = device->make_stream(false);
  return device;
}

HostDevice::HostDevice(DeviceInfo info, Config config)
    : Device(std::move(info), std::move(config)),
      source_(std::make_shared<HostSource>(info_.total_bytes)),
      timeline_(std::make_shared<HostTimeline>()) {
  pool_ = make_pool("pool", source_, timeline_, config_.pool, std::make_shared<HostTools>());
  pinned_ = pool_;
  config_.pool = pool_.config();
}

HostDevice::~HostDevice() { close(); }

Stream HostDevice::make_stream(bool retires) {
  return Stream(std::make_shared<HostStream>(weak_from_this(), timeline_->add_stream(), retires));
}

Stream HostDevice::create_stream() {
  require_open();
  return make_stream(true);
}

void HostDevice::synchronize() { require_open(); }

std::size_t HostDevice::free_bytes() const noexcept { return source_->free_bytes(); }

std::uint64_t HostDevice::driver_calls() const noexcept { return 0; }

// The pool gave its memory back; the rest goes with the object.
void HostDevice::shut_down() noexcept {}

}  // namespace forebay::host
