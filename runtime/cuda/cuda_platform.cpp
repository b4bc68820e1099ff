#include "runtime/cuda/cuda_platform.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {
namespace {

/// The driver is one for the whole process, and so is its table. Throws DeviceError.
std::shared_ptr<const driver::CudaApi> driver_api() {
  static std::mutex mutex;
  static std::shared_ptr<const driver::CudaApi> api;  // mutex
  const std::lock_guard lock(mutex);
  if (api == nullptr) {
    api = driver::CudaApi::open();
  }
  if (!api->usable()) {
    throw DeviceError(
        "CUDA was started before this process was forked (or the process is ending); a forked "
        "child "
        "cannot use it: fork before the first use of CUDA, or exec a program in the child");
  }
  return api;
}

/// How programs run at first.
#ifdef FOREBAY_HAVE_INTERPRETER
constexpr const char* kTiers = "";
#else
constexpr const char* kTiers = "; built without nvcc, so programs wait for NVRTC at first";
#endif

std::string gibibytes(std::size_t bytes) {
  const std::size_t tenths = (bytes >> 20) * 10 / 1024;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

DeviceReport report(const driver::CudaApi& api, int index) {
  DeviceReport line{"cuda:" + std::to_string(index), "", false, ""};
  try {
    const DeviceInfo info = describe_device(api, index);
    line.name = info.name;
    line.usable = true;
    line.detail = gibibytes(info.total_bytes) + ", " + info.architecture + ", " +
                  std::to_string(info.multiprocessors) + " multiprocessors, driver for CUDA " +
                  std::to_string(api.version / 1000) + "." +
                  std::to_string(api.version % 1000 / 10) + kTiers;
  } catch (const Error& error) {
    line.detail = error.what();
  }
  return line;
}

}  // namespace

std::vector<DeviceReport> list_devices() {
  try {
    const auto api = driver_api();
    int count = 0;
    check(*api, api->cuDeviceGetCount(&count), "cuDeviceGetCount");
    std::vector<DeviceReport> devices;
    for (int index = 0; index < count; ++index) {
      devices.push_back(report(*api, index));
    }
    if (devices.empty()) {
      devices.push_back({"cuda", "", false, "the CUDA driver sees no device"});
    }
    return devices;
  } catch (const Error& error) {
    return {{"cuda", "", false, error.what()}};
  }
}

std::shared_ptr<Device> open_device(int index, const Config& config) {
  return CudaDevice::open(driver_api(), index, config);
}

}  // namespace forebay::cuda
