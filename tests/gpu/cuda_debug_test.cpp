// Debug modes on a device: planted faults are found.
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/support/driver_pieces.hpp"

using namespace forebay;
using namespace forebay::test;
using pool::Misuse;

namespace {

Config debugging() {
  Config config;
  for (pool::PoolConfig* of : {&config.pool, &config.pinned}) {
    of->debug_fill = true;
    of->debug_canary = 64;
    of->debug_quarantine = 16 * kMiB;
    of->leak_stacks = pool::StackMode::all;
  }
  return config;
}

CUstream queue(const Stream& stream) { return static_cast<CUstream>(stream.native()); }
CUdeviceptr at(const void* block) { return reinterpret_cast<CUdeviceptr>(block); }

}  // namespace

TEST_CASE("on a GPU blocks are filled and a write behind them is found at their free") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, debugging());
  const Stream stream = device->create_stream();
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{200'000}, 5 * kMiB + 3}) {
    INFO(bytes);
    void* good = device->pool().allocate(bytes, stream.id());
    void* bad = device->pool().allocate(bytes, stream.id());
    CHECK(read(device->api(), at(bad), bytes, queue(stream)) ==
          std::vector<unsigned char>(bytes, 0xFF));
    fill(device->api(), at(good), 1, bytes, queue(stream));
    fill(device->api(), at(bad), 1, bytes + 3, queue(stream));
    CHECK(device->pool().try_deallocate(good, stream.id()) == Misuse::none);
    CHECK(device->pool().try_deallocate(bad, stream.id()) == Misuse::buffer_overrun);
    if (bytes <= 16 * kMiB) {  // in quarantine, so that it may be looked at
      CHECK(read(device->api(), at(bad), bytes, queue(stream)) ==
            std::vector<unsigned char>(bytes, 0xEF));
    }
  }
  CHECK(device->pool().stats().errors.buffer_overrun == 3);
  CHECK(device->pool().validate().empty());
}

TEST_CASE("on a GPU a write after free is found") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, debugging());
  const Stream one = device->create_stream();
  const Stream other = device->create_stream();
  std::string line;
  device->pool().set_misuse_handler(
      [&](Misuse, const void*, std::string_view text) { line = text; });
  void* block = device->pool().allocate(2 * kMiB, one.id(), {.tag = "victim"});
  device->pool().deallocate(block, one.id());
  one.synchronize();
  fill(device->api(), at(block) + 12345, 1, 1, queue(other));
  other.synchronize();
  device->pool().trim();
  INFO(line);
  CHECK(line.find("byte 12345 of its 2097152 bytes was changed since, tag victim") !=
        std::string::npos);
  CHECK(device->pool().stats().errors.use_after_free == 1);
}

TEST_CASE("on a GPU pinned memory is filled before the host gets it") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, debugging());
  const pool::StreamId stream = device->default_stream().id();
  auto* block = static_cast<volatile unsigned char*>(device->pinned_pool().allocate(kMiB, stream));
  CHECK(block[0] == 0xFF);
  CHECK(block[kMiB - 1] == 0xFF);
  block[0] = 1;
  device->synchronize();
  CHECK(block[0] == 1);
  block[kMiB] = 1;
  CHECK(device->pinned_pool().try_deallocate(const_cast<unsigned char*>(block), stream) ==
        Misuse::buffer_overrun);
}

TEST_CASE("on a GPU a guarded block ends where the driver lets nobody go") {
  FOREBAY_REQUIRE_DEVICE();
  Config config;
  config.pool.debug_guard_sample = 1;
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, config);
  const Stream stream = device->create_stream();
  void* block = device->pool().allocate(4096, stream.id());
  CHECK(device->pool().stats().debug.guarded == 1);
  fill(device->api(), at(block), 1, 4096, queue(stream));
  stream.synchronize();
  // Behind it is no memory. A kernel would end the context there, so a copy asks instead.
  unsigned char byte = 0;
  CHECK(device->api().cuMemcpyDtoHAsync(&byte, at(block) + 4095, 1, queue(stream)) == CUDA_SUCCESS);
  CHECK(device->api().cuMemcpyDtoHAsync(&byte, at(block) + 4096, 1, queue(stream)) != CUDA_SUCCESS);
  stream.synchronize();
  CHECK(byte == 1);
  CHECK(device->pool().try_deallocate(block, stream.id()) == Misuse::none);
  device->pool().trim();
  CHECK(device->pool().stats().held.current == 0);
  CHECK(device->pool().validate().empty());
}

TEST_CASE("on a GPU debug modes stay out of captures") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, debugging());
  const driver::CudaApi& api = device->api();
  const Stream stream = device->create_stream();
  const Stream other = device->create_stream();
  void* before = device->pool().allocate(1000, stream.id());
  (void)device->pool().begin_capture(stream.id());
  REQUIRE(api.cuStreamBeginCapture(queue(stream), CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  void* within = device->pool().allocate(1000, stream.id());
  CHECK(device->pool().try_deallocate(within, stream.id()) == Misuse::none);
  CHECK(device->pool().try_deallocate(before, stream.id()) == Misuse::none);
  void* beside = device->pool().allocate(1000, other.id());
  CHECK(device->pool().try_deallocate(beside, other.id()) == Misuse::none);
  CUgraph graph = nullptr;
  CHECK(api.cuStreamEndCapture(queue(stream), &graph) == CUDA_SUCCESS);
  CHECK(graph != nullptr);
  CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);
}
