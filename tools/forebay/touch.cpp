#include "tools/forebay/touch.hpp"

#include "tools/forebay/touch_host.hpp"
#ifdef FOREBAY_HAVE_CUDA
#include "tools/forebay/touch_cuda.hpp"
#endif

namespace forebay::tools {

std::unique_ptr<Touch> make_touch(Device& device, const std::vector<Stream>& streams) {
  static_cast<void>(streams);  // in a host-only build
  switch (device.info().kind) {
    case DeviceKind::host:
      return std::make_unique<HostTouch>();
#ifdef FOREBAY_HAVE_CUDA
    case DeviceKind::cuda:
      return std::make_unique<CudaTouch>(device, streams);
#endif
    default:
      return nullptr;
  }
}

}  // namespace forebay::tools
