// Which calls touching makes, on a driver that computes nothing; tests/gpu sees the stamps.
#include "tools/forebay/touch_cuda.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"
#include "tools/forebay/replay_run.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::FakeDriver;

namespace {

struct TouchedDevice {
  FakeDriver driver{FakeDriver::Options{.count_launches = true}};
  std::shared_ptr<cuda::CudaDevice> device =
      cuda::CudaDevice::open(driver.api(), 0, test::fake_config());
  [[nodiscard]] std::uint64_t calls() const { return driver.api()->calls(); }
};

}  // namespace

TEST_CASE("stamps and checks are one launch each, and streams are ordered only where needed") {
  TouchedDevice fake;
  const std::vector<Stream> streams = {fake.device->create_stream(), fake.device->create_stream()};
  {
    CudaTouch touch(*fake.device, streams);
    void* block = fake.device->pool().allocate(1000, streams[0].id());
    std::uint64_t before = fake.calls();
    touch.stamp(block, 1000, 1, 0);
    CHECK(fake.calls() - before == 1);
    touch.check(block, 1000, 1, 0, 0);
    CHECK(fake.calls() - before == 2);
    touch.check(block, 1000, 1, 1, 0);  // an event, a wait for it, the launch
    CHECK(fake.calls() - before == 5);
    touch.stamp(nullptr, 0, 1, 0);
    touch.check(nullptr, 0, 1, 1, 0);
    CHECK(fake.calls() - before == 5);
    CHECK(fake.driver.launches() == 3);
    CHECK_FALSE(touch.finish());
    fake.device->pool().deallocate(block, streams[0].id());
  }
  CHECK(fake.device->pinned_pool().stats().allocations.live == 0);
  CHECK(fake.device->pool().stats().allocations.total == 1);
}

TEST_CASE("a driver that refuses a launch ends the replay with its error") {
  TouchedDevice fake;
  pool::Trace trace =
      pool::parse_trace("1,alloc,1,1000,0\n2,alloc,2,1000,1\n3,use,1,0,1\n4,free,1,0,0\n", "FILE");
  ReplayWork work;
  work.touch = true;
  CHECK(run_replay(trace, *fake.device, work, [](std::uint64_t) {}).outcome.completed);
  fake.driver.fail("cuLaunchKernel", 2, CUDA_ERROR_LAUNCH_FAILED, true);
  const ReplayResult result = run_replay(trace, *fake.device, work, [](std::uint64_t) {});
  CHECK_FALSE(result.outcome.completed);
  CHECK(result.outcome.failed_event == 1);
  CHECK(result.outcome.error.find("cuLaunchKernel") != std::string::npos);
  CHECK(fake.device->pool().stats().allocations.live == 0);
}
