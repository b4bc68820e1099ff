// The fake driver's copies and fills: ordered by streams, done by the host.
#include <cstring>

#include "tests/support/fake_driver_state.hpp"

namespace forebay::test {
namespace {

void* as_host_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// Pageable host memory is anybody's; what the driver manages must be accessible in whole.
bool usable(const FakeCall& driver, CUdeviceptr address, std::size_t bytes, bool on_device) {
  const bool device_memory = driver->is_device_memory(address);
  if (on_device || device_memory) {
    return device_memory && driver->accessible(address, bytes, driver.thread().device);
  }
  return true;
}

CUresult copy(const FakeCall& driver, CUdeviceptr to, bool to_device, CUdeviceptr from,
              bool from_device, std::size_t bytes, CUstream stream) {
  if (!usable(driver, to, bytes, to_device) || !usable(driver, from, bytes, from_device)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver->submit_to(stream, "copy", [to, from, bytes] {
    std::memmove(as_host_pointer(to), as_host_pointer(from), bytes);
  });
}

}  // namespace

CUresult FakeCalls::cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                  CUstream stream) {
  FAKE_CALL("cuMemcpyAsync", context);
  return copy(driver, to, false, from, false, bytes, stream);
}

CUresult FakeCalls::cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes,
                                      CUstream stream) {
  FAKE_CALL("cuMemcpyHtoDAsync", context);
  return copy(driver, to, true, reinterpret_cast<CUdeviceptr>(from), false, bytes, stream);
}

CUresult FakeCalls::cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes,
                                      CUstream stream) {
  FAKE_CALL("cuMemcpyDtoHAsync", context);
  return copy(driver, reinterpret_cast<CUdeviceptr>(to), false, from, true, bytes, stream);
}

CUresult FakeCalls::cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                      CUstream stream) {
  FAKE_CALL("cuMemcpyDtoDAsync", context);
  return copy(driver, to, true, from, true, bytes, stream);
}

CUresult FakeCalls::cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                                    CUstream stream) {
  FAKE_CALL("cuMemsetD8Async", context);
  if (!usable(driver, to, count, false)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver->submit_to(stream, "fill",
                           [to, value, count] { std::memset(as_host_pointer(to), value, count); });
}

CUresult FakeCalls::cuMemsetD32Async(CUdeviceptr to, unsigned int value, std::size_t count,
                                     CUstream stream) {
  FAKE_CALL("cuMemsetD32Async", context);
  if (to % sizeof value != 0 || !usable(driver, to, count * sizeof value, false)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver->submit_to(stream, "fill", [to, value, count] {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<char*>(as_host_pointer(to)) + i * sizeof value, &value, sizeof value);
    }
  });
}

}  // namespace forebay::test
