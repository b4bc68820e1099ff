// A device whose inside a test can watch: host memory, and counts of what was asked of it.
#pragma once

#include <memory>
#include <utility>

#include "forebay/runtime/device.hpp"
#include "runtime/host/host_source.hpp"
#include "runtime/host/host_timeline.hpp"

namespace forebay::test {

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(int index = 0, const Config& config = {})
      : Device(describe(index), config),
        source_(std::make_shared<host::HostSource>(std::size_t{64} << 20)),
        timeline_(std::make_shared<host::HostTimeline>()) {
    pool_ = pool::Pool(source_, timeline_, config.pool);
    pinned_ = pool::Pool(source_, timeline_, config.pinned);
    default_stream_ = create_stream();
  }
  ~FakeDevice() override { close(); }

  Stream create_stream() override {
    auto state = std::make_shared<Stream::State>();
    state->id = timeline_->add_stream();
    return Stream(std::move(state));
  }
  void synchronize() override {
    ++waits;
    if (fails_to_wait) throw DriverError("the device fell off the bus", 79);
  }
  std::size_t free_bytes() const noexcept override { return 1234; }
  std::uint64_t driver_calls() const noexcept override { return 56; }

  int waits = 0;
  int ends = 0;
  bool fails_to_wait = false;

 private:
  static DeviceInfo describe(int index) {
    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.index = index;
    info.name = "Fake \"quoted\" device";
    info.architecture = "sm_00";
    info.total_bytes = std::size_t{64} << 20;
    return info;
  }
  void shut_down() noexcept override { ++ends; }

  std::shared_ptr<host::HostSource> source_;
  std::shared_ptr<host::HostTimeline> timeline_;
};

}  // namespace forebay::test
