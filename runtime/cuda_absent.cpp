// What stands in for cuda/cuda_platform.cpp in a build without CUDA's headers.
#include "runtime/cuda/cuda_platform.hpp"

namespace forebay::cuda {

namespace {
constexpr const char* kAbsent =
    "this build has no CUDA support: it was built without CUDA's headers";
}

std::vector<DeviceReport> list_devices(Detail /*detail*/) {
  return {DeviceReport{"cuda", "", false, kAbsent}};
}

std::shared_ptr<Device> open_device(int, const Config&) { throw DeviceError(kAbsent); }

}  // namespace forebay::cuda
