#include "runtime/driver/nvrtc_api.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "forebay/pool/error.hpp"
#include "runtime/driver/dynamic_library.hpp"

namespace forebay::driver {
namespace {

std::string build_of(const std::string& path) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return "unknown";
  return std::to_string(is.st_size) + " " + std::to_string(is.st_mtim.tv_sec) + "." +
         std::to_string(is.st_mtim.tv_nsec);
}

}  // namespace

std::shared_ptr<const NvrtcApi> NvrtcApi::open(int driver_version) {
  const DynamicLibrary library = DynamicLibrary::search(
      "libnvrtc", supported_majors(driver_version), library_folders("cuda_nvrtc"));
  if (!library) {
    throw DriverError("NVRTC, the compiler for kernels, was not found: " + library.error(), 0);
  }
  auto api = std::make_shared<NvrtcApi>();
#define FOREBAY_FILL(name) api->name.set(library.require(#name));
  FOREBAY_NVRTC_FUNCTIONS(FOREBAY_FILL)
#undef FOREBAY_FILL
  api->path = library.path();
  api->build = build_of(api->path);
  int major = 0;
  int minor = 0;
  check(*api, api->nvrtcVersion(&major, &minor), "nvrtcVersion");
  api->version = major * 1000 + minor * 10;
  // NVRTC opens its own second library by name at its first compilation, and finds it only in the
  // loader's path; one that is open already it always finds. What is missing, it says itself.
  const auto folder = std::filesystem::path(api->path).parent_path();
  (void)DynamicLibrary::open(
      folder / ("libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor)));
  return api;
}

void check(const NvrtcApi& api, nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) {
    throw DriverError(std::string(call) + ": " + api.nvrtcGetErrorString(result) + " (" +
                          std::to_string(static_cast<int>(result)) + ")",
                      static_cast<int>(result));
  }
}

}  // namespace forebay::driver
