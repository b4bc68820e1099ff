#include "runtime/cuda/cuda_tools.hpp"

#include <string>
#include <vector>

#include "pool/units.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using cuda::CudaDevice;
using pool::Misuse;
using test::FakeDriver;

namespace {

using pool::kMiB;

Config debugging() {
  Config config = test::fake_config();
  config.pool.debug_fill = config.pinned.debug_fill = true;
  config.pool.debug_canary = config.pinned.debug_canary = 64;
  config.pool.debug_quarantine = config.pinned.debug_quarantine = 4 * kMiB;
  return config;
}

CUstream queue(const CudaDevice& device) {
  return static_cast<CUstream>(device.default_stream().native());
}

std::vector<unsigned char> content(const CudaDevice& device, const void* block, std::size_t bytes) {
  std::vector<unsigned char> result(bytes);
  CHECK(device.api().cuMemcpyDtoHAsync(result.data(), reinterpret_cast<CUdeviceptr>(block), bytes,
                                       queue(device)) == CUDA_SUCCESS);
  CHECK(device.api().cuStreamSynchronize(queue(device)) == CUDA_SUCCESS);
  return result;
}

void set(const CudaDevice& device, const void* block, std::size_t offset, unsigned char value) {
  CHECK(device.api().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(block) + offset, value, 1,
                                     queue(device)) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("on a device blocks are filled and a write behind them is found") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, debugging());
  const pool::StreamId stream = device->default_stream().id();
  for (const std::size_t bytes : {std::size_t{1000}, 200'000 * std::size_t{1}, 3 * kMiB}) {
    INFO(bytes);
    void* block = device->pool().allocate(bytes, stream);
    CHECK(content(*device, block, bytes) == std::vector<unsigned char>(bytes, 0xFF));
    set(*device, block, bytes + 5, 1);
    CHECK(device->pool().try_deallocate(block, stream) == Misuse::buffer_overrun);
    CHECK(content(*device, block, bytes) == std::vector<unsigned char>(bytes, 0xEF));
  }
  CHECK(device->pool().stats().errors.buffer_overrun == 3);
  CHECK(device->pool().validate().empty());
  device->close();
  CHECK(driver.leaks() == "");
}

TEST_CASE("on a device a write after free is found, whichever stream does it") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, debugging());
  const Stream other = device->create_stream();
  void* block = device->pool().allocate(5000, other.id());
  device->pool().deallocate(block, other.id());
  set(*device, block, 40, 0);
  CHECK(device->pool().stats().errors.use_after_free == 0);
  device->pool().trim();
  CHECK(device->pool().stats().errors.use_after_free == 1);
}

TEST_CASE("pinned memory is filled before the host gets it") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, debugging());
  driver.hold(queue(*device));  // work of the stream runs only when somebody waits for it
  const pool::StreamId stream = device->default_stream().id();
  auto* block = static_cast<unsigned char*>(device->pinned_pool().allocate(1000, stream));
  CHECK(block[0] == 0xFF);
  block[0] = 1;
  driver.let_go(queue(*device));
  CHECK(block[0] == 1);
  block[1000] = 1;
  CHECK(device->pinned_pool().try_deallocate(block, stream) == Misuse::buffer_overrun);
}

TEST_CASE("nothing of debug modes gets into a graph or ends a capture") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, debugging());
  const driver::CudaApi& api = device->api();
  const pool::StreamId stream = device->default_stream().id();
  void* before = device->pool().allocate(1000, stream);
  const auto memsets = api.cuMemsetD8Async.calls();
  (void)device->pool().begin_capture(stream);
  REQUIRE(api.cuStreamBeginCapture(queue(*device), CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  void* within = device->pool().allocate(1000, stream);
  CHECK(device->pool().try_deallocate(within, stream) == Misuse::none);
  CHECK(device->pool().try_deallocate(before, stream) == Misuse::none);
  // Another stream goes on as ever beside it.
  const Stream other = device->create_stream();
  void* beside = device->pool().allocate(1000, other.id());
  CHECK(device->pool().try_deallocate(beside, other.id()) == Misuse::none);
  CHECK(api.cuMemsetD8Async.calls() == memsets + 3);
  CUgraph graph = nullptr;
  CHECK(api.cuStreamEndCapture(queue(*device), &graph) == CUDA_SUCCESS);
  CHECK(graph != nullptr);
  CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(device->pool().stats().debug.unchecked >= 1);
}

TEST_CASE("on a device a guarded block ends where the driver lets nobody go") {
  FakeDriver driver;
  Config config = test::fake_config();
  config.pool.debug_guard_sample = 1;
  const auto device = CudaDevice::open(driver.api(), 0, config);
  const pool::StreamId stream = device->default_stream().id();
  void* block = device->pool().allocate(4096, stream);
  const auto address = reinterpret_cast<CUdeviceptr>(block);
  CHECK(device->api().cuMemsetD8Async(address, 1, 4096, queue(*device)) == CUDA_SUCCESS);
  CHECK(device->api().cuMemsetD8Async(address, 1, 4097, queue(*device)) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(device->pool().stats().debug.guarded == 1);
  CHECK(device->pool().try_deallocate(block, stream) == Misuse::none);
  device->close();
  CHECK(driver.leaks() == "");
}

TEST_CASE("whatever call of the driver fails, a debugged pool loses nothing") {
  for (const char* call : {"cuMemsetD8Async", "cuMemcpyAsync", "cuStreamSynchronize"}) {
    for (int nth = 1; nth <= 6; ++nth) {
      INFO(call << " " << nth);
      FakeDriver driver;
      const auto device = CudaDevice::open(driver.api(), 0, debugging());
      const pool::StreamId stream = device->default_stream().id();
      driver.fail(call, nth, CUDA_ERROR_LAUNCH_FAILED);
      for (int i = 0; i < 6; ++i) {
        void* block = device->pool().allocate(100'000, stream);
        CHECK(device->pool().try_deallocate(block, stream) == Misuse::none);
      }
      device->pool().trim();
      CHECK(device->pool().validate().empty());
      CHECK(device->pool().stats().errors.use_after_free == 0);
      CHECK(device->pool().stats().allocations.live == 0);
      driver.heal();
      device->close();
      CHECK(driver.leaks() == "");
    }
  }
}
