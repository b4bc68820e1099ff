// A CUDA device on the fake driver.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "tests/support/fake_driver.hpp"

namespace forebay::test {

struct FakeCuda {
  explicit FakeCuda(const Config& config = test::fake_config(), bool count_launches = false)
      : own(std::make_unique<FakeDriver>(FakeDriver::Options{.count_launches = count_launches})),
        driver(*own),
        device(cuda::CudaDevice::open(driver.api(), 0, config)),
        stream(device->default_stream()) {}
  /// A device of a driver that outlives this.
  explicit FakeCuda(FakeDriver& of)
      : driver(of),
        device(cuda::CudaDevice::open(driver.api(), 0, test::fake_config())),
        stream(device->default_stream()) {}
  ~FakeCuda() {
    for (void* const block : blocks) pool::Pool(device->pool()).deallocate(block, stream.id());
    stream = {};
    device->close();
  }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  std::unique_ptr<FakeDriver> own;
  FakeDriver& driver;
  std::shared_ptr<cuda::CudaDevice> device;
  Stream stream;

  [[nodiscard]] std::uint64_t live_blocks() const {
    return device->pool().stats().allocations.live;
  }
  /// Memory of the device until the end, which on the fake one is the process's own.
  template <typename T>
  [[nodiscard]] T* allocate(std::size_t count) {
    blocks.push_back(pool::Pool(device->pool()).allocate(count * sizeof(T), stream.id()));
    return static_cast<T*>(blocks.back());
  }

  std::vector<void*> blocks;
};

}  // namespace forebay::test
