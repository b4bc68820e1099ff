#include "tools/forebay/device_timer.hpp"

#include "tools/forebay/clock.hpp"
#ifdef FOREBAY_HAVE_CUDA
#include "tools/forebay/device_timer_cuda.hpp"
#endif

namespace forebay::tools {
namespace {

class HostTimer final : public DeviceTimer {
 public:
  double seconds(const std::function<void()>& enqueue) override {
    const double start = now_s();
    enqueue();
    return now_s() - start;
  }
};

}  // namespace

std::unique_ptr<DeviceTimer> make_device_timer([[maybe_unused]] Device& device) {
#ifdef FOREBAY_HAVE_CUDA
  if (device.info().kind == DeviceKind::cuda) return std::make_unique<CudaTimer>(device);
#endif
  return std::make_unique<HostTimer>();
}

}  // namespace forebay::tools
