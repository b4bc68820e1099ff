// Pieces for tests that call a driver's table directly: a current context, streams, events, memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/driver/cuda_api.hpp"
#include "tests/support/catch.hpp"

namespace forebay::test {

/// The primary context of the first device, current on this thread.
class CurrentContext {
 public:
  explicit CurrentContext(const driver::CudaApi& api) : api_(api) {
    REQUIRE(api_.cuDevicePrimaryCtxRetain(&context_, 0) == CUDA_SUCCESS);
    REQUIRE(api_.cuCtxSetCurrent(context_) == CUDA_SUCCESS);
  }
  ~CurrentContext() {
    api_.cuCtxSetCurrent(nullptr);
    api_.cuDevicePrimaryCtxRelease(0);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  [[nodiscard]] CUcontext get() const { return context_; }

 private:
  const driver::CudaApi& api_;
  CUcontext context_ = nullptr;
};

class TestStream {
 public:
  explicit TestStream(const driver::CudaApi& api) : api_(api) {
    REQUIRE(api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  }
  ~TestStream() { api_.cuStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  [[nodiscard]] CUstream get() const { return stream_; }
  [[nodiscard]] std::uint64_t id() const {
    unsigned long long id = 0;
    REQUIRE(api_.cuStreamGetId(stream_, &id) == CUDA_SUCCESS);
    return id;
  }

 private:
  const driver::CudaApi& api_;
  CUstream stream_ = nullptr;
};

class TestEvent {
 public:
  explicit TestEvent(const driver::CudaApi& api) : api_(api) {
    REQUIRE(api_.cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  }
  ~TestEvent() { api_.cuEventDestroy(event_); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  [[nodiscard]] CUevent get() const { return event_; }

 private:
  const driver::CudaApi& api_;
  CUevent event_ = nullptr;
};

/// Physical memory of the first device.
[[nodiscard]] inline CUmemAllocationProp device_memory() {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = 0;
  return kind;
}

[[nodiscard]] inline std::size_t granule(const driver::CudaApi& api) {
  const CUmemAllocationProp kind = device_memory();
  std::size_t bytes = 0;
  REQUIRE(api.cuMemGetAllocationGranularity(&bytes, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
          CUDA_SUCCESS);
  return bytes;
}

[[nodiscard]] inline CUresult give_access(const driver::CudaApi& api, CUdeviceptr address,
                                          std::size_t bytes) {
  const CUmemAccessDesc access{device_memory().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return api.cuMemSetAccess(address, bytes, &access, 1);
}

/// Addresses without memory.
class TestRange {
 public:
  TestRange(const driver::CudaApi& api, std::size_t bytes) : api_(api), bytes_(bytes) {
    REQUIRE(api_.cuMemAddressReserve(&address_, bytes_, 0, 0, 0) == CUDA_SUCCESS);
  }
  ~TestRange() { api_.cuMemAddressFree(address_, bytes_); }
  TestRange(const TestRange&) = delete;
  TestRange& operator=(const TestRange&) = delete;
  [[nodiscard]] CUdeviceptr at(std::size_t offset = 0) const { return address_ + offset; }

 private:
  const driver::CudaApi& api_;
  CUdeviceptr address_ = 0;
  std::size_t bytes_;
};

/// Memory without addresses; `map` gives it some, with access, until `unmap` or the end.
class TestHandle {
 public:
  TestHandle(const driver::CudaApi& api, std::size_t bytes) : api_(api), bytes_(bytes) {
    const CUmemAllocationProp kind = device_memory();
    REQUIRE(api_.cuMemCreate(&handle_, bytes_, &kind, 0) == CUDA_SUCCESS);
  }
  ~TestHandle() {
    unmap();
    if (!released_) {
      api_.cuMemRelease(handle_);
    }
  }
  TestHandle(const TestHandle&) = delete;
  TestHandle& operator=(const TestHandle&) = delete;
  [[nodiscard]] CUmemGenericAllocationHandle get() const { return handle_; }

  void map(CUdeviceptr address) {
    REQUIRE(api_.cuMemMap(address, bytes_, 0, handle_, 0) == CUDA_SUCCESS);
    mapped_ = address;
    REQUIRE(give_access(api_, address, bytes_) == CUDA_SUCCESS);
  }
  void unmap() {
    if (mapped_ != 0) {
      CHECK(api_.cuMemUnmap(mapped_, bytes_) == CUDA_SUCCESS);
      mapped_ = 0;
    }
  }
  void release() {
    CHECK(api_.cuMemRelease(handle_) == CUDA_SUCCESS);
    released_ = true;
  }

 private:
  const driver::CudaApi& api_;
  std::size_t bytes_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr mapped_ = 0;
  bool released_ = false;
};

/// Fills device memory with one byte, in order on the stream.
inline void fill(const driver::CudaApi& api, CUdeviceptr address, unsigned char value,
                 std::size_t bytes, CUstream stream) {
  CHECK(api.cuMemsetD8Async(address, value, bytes, stream) == CUDA_SUCCESS);
}

/// Device memory as bytes; waits for the stream.
[[nodiscard]] inline std::vector<unsigned char> read(const driver::CudaApi& api,
                                                     CUdeviceptr address, std::size_t bytes,
                                                     CUstream stream) {
  std::vector<unsigned char> host(bytes);
  CHECK(api.cuMemcpyDtoHAsync(host.data(), address, bytes, stream) == CUDA_SUCCESS);
  CHECK(api.cuStreamSynchronize(stream) == CUDA_SUCCESS);
  return host;
}

}  // namespace forebay::test
