#include "runtime/cuda/cuda_platform.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/driver/nvrtc_api.hpp"

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

/// How programs run at first, and how without a compiler.
#ifdef FOREBAY_HAVE_INTERPRETER
constexpr const char* kTiers = "";
constexpr const char* kWithoutCompiler = "programs are interpreted: ";
#else
constexpr const char* kTiers = "; built without nvcc, so programs wait for NVRTC at first";
constexpr const char* kWithoutCompiler = "no program runs: ";
#endif

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string gibibytes(std::size_t bytes) {
  const std::size_t tenths = (bytes >> 20) * 10 / 1024;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

DeviceReport report(const driver::CudaApi& api, int index, const std::string& compiler) {
  DeviceReport line{"cuda:" + std::to_string(index), "", false, ""};
  try {
    const DeviceInfo info = describe_device(api, index);
    line.name = info.name;
    line.usable = true;
    line.detail = gibibytes(info.total_bytes) + ", " + info.architecture + ", " +
                  std::to_string(info.multiprocessors) + " multiprocessors, driver for CUDA " +
                  version_text(api.version) + (compiler.empty() ? "" : ", ") + compiler;
  } catch (const Error& error) {
    line.detail = error.what();
  }
  return line;
}

}  // namespace

std::string describe_compiler(int driver_version) {
  try {
    return "NVRTC " + version_text(driver::NvrtcApi::open(driver_version)->version) + kTiers;
  } catch (const Error& error) {
    return std::string("without a compiler, so ") + kWithoutCompiler + error.what();
  }
}

std::vector<DeviceReport> list_devices(Detail detail) {
  try {
    const auto api = driver_api();
    int count = 0;
    check(*api, api->cuDeviceGetCount(&count), "cuDeviceGetCount");
    std::vector<DeviceReport> devices;
    const bool asked = detail == Detail::compiler && count > 0;
    const std::string compiler = asked ? describe_compiler(api->version) : "";
    for (int index = 0; index < count; ++index) {
      devices.push_back(report(*api, index, compiler));
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
