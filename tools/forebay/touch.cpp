#include "tools/forebay/touch.hpp"

#include "tools/forebay/touch_host.hpp"

namespace forebay::tools {

std::unique_ptr<Touch> make_touch(Device& device, const std::vector<Stream>& streams) {
  switch (device.info().kind) {
    case DeviceKind::host:
      return make_host_touch();
    case DeviceKind::cuda:
      return make_cuda_touch(device, streams);
    case DeviceKind::simulated:
      break;
  }
  return nullptr;
}

}  // namespace forebay::tools
