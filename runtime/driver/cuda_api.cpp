#include "runtime/driver/cuda_api.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "forebay/pool/error.hpp"
#include "runtime/driver/dynamic_library.hpp"
#include "runtime/process.hpp"

namespace forebay::driver {
namespace {

/// Set by the first exit handler that runs after the driver was initialised: handlers run in
/// reverse order of registration, so that the driver's own have not run yet.
std::atomic<bool> g_exiting{false};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DynamicLibrary open_driver() {
  DynamicLibrary library = DynamicLibrary::open("libcuda.so.1");
  if (!library) {
    throw DeviceError("no CUDA driver on this machine: " + library.error());
  }
  return library;
}

void require_version(const DynamicLibrary& library, int* version) {
  Entry<decltype(::cuDriverGetVersion)> get_version;
  get_version.set(library.require("cuDriverGetVersion"));
  if (get_version(version) != CUDA_SUCCESS || *version < kMinimumDriver) {
    throw DeviceError("the CUDA driver (" + library.path() + ") is for CUDA " +
                      version_text(*version) + ", CUDA " + version_text(kMinimumDriver) +
                      " (release 550) or newer is needed");
  }
}

void fill(const DynamicLibrary& library, CudaApi& api) {
  Entry<decltype(::cuGetProcAddress)> get_address;
  get_address.set(library.require("cuGetProcAddress_v2"));
  const auto find = [&](const char* name, int version) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const CUresult result =
        get_address(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    if (result != CUDA_SUCCESS || address == nullptr) {
      throw DeviceError("the CUDA driver (" + library.path() + ") has no function " + name +
                        " of CUDA " + version_text(version));
    }
    return address;
  };
#define FOREBAY_FILL(name, version) api.name.set(find(#name, version));
  FOREBAY_CUDA_FUNCTIONS(FOREBAY_FILL)
#undef FOREBAY_FILL
}

void initialise(CudaApi& api) {
  const auto start = std::chrono::steady_clock::now();
  const CUresult result = api.cuInit(0);
  if (result != CUDA_SUCCESS) {
    throw DeviceError("the CUDA driver does not start: cuInit: " + describe(api, result));
  }
  api.init_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  process::watch_forks();
  api.generation = process::generation();
  std::atexit([] { g_exiting.store(true, std::memory_order_relaxed); });
}

}  // namespace

std::shared_ptr<const CudaApi> CudaApi::open() {
  const DynamicLibrary library = open_driver();
  auto api = std::make_shared<CudaApi>();
  require_version(library, &api->version);
  fill(library, *api);
  initialise(*api);
  return api;
}

bool CudaApi::usable() const noexcept {
  return !g_exiting.load(std::memory_order_relaxed) && generation == process::generation();
}

std::uint64_t CudaApi::calls() const noexcept {
  std::uint64_t sum = 0;
#define FOREBAY_ADD(name, version) sum += name.calls();
  FOREBAY_CUDA_FUNCTIONS(FOREBAY_ADD)
#undef FOREBAY_ADD
  return sum;
}

std::string describe(const CudaApi& api, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
    name = "unknown error";
  }
  if (api.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) {
    text = "the driver has no text for it";
  }
  return std::string(name) + " (" + std::to_string(static_cast<int>(result)) + "): " + text;
}

void throw_driver_error(const CudaApi& api, CUresult result, const char* call) {
  throw DriverError(std::string(call) + ": " + describe(api, result), static_cast<int>(result));
}

}  // namespace forebay::driver
