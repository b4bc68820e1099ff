// The pool on a device: no block is handed out while somebody still uses it.
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/support/driver_pieces.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

/// Stamps blocks, slowly enough that streams run far apart, and counts words that lost their stamp.
constexpr const char* kStamps = R"(
extern "C" __global__ void stamp(unsigned* block, unsigned long long words, unsigned value,
                                 long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < words;
       i += (unsigned long long)gridDim.x * blockDim.x) block[i] = value;
}
extern "C" __global__ void verify(const unsigned* block, unsigned long long words, unsigned value,
                                  unsigned long long* wrong) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < words;
       i += (unsigned long long)gridDim.x * blockDim.x)
    if (block[i] != value) atomicAdd(wrong, 1ULL);
}
)";

struct Block {
  void* address = nullptr;
  std::size_t bytes = 0;
  std::uint32_t value = 0;
  std::size_t stream = 0;
};

/// A device, streams and the two kernels.
class Stamper {
 public:
  Stamper(const Config& config, std::size_t streams)
      : device_(cuda::CudaDevice::open(driver::CudaApi::open(), 0, config)),
        stamp_(device_->kernels().get(kStamps, "stamp")),
        verify_(device_->kernels().get(kStamps, "verify")) {
    for (std::size_t i = 0; i < streams; ++i) {
      streams_.push_back(device_->create_stream());
    }
    wrong_ = device_->pool().allocate(sizeof(std::uint64_t), streams_[0].id());
    fill(device_->api(), reinterpret_cast<CUdeviceptr>(wrong_), 0, sizeof(std::uint64_t), queue(0));
    streams_[0].synchronize();
  }
  ~Stamper() { device_->pool().deallocate(wrong_, streams_[0].id()); }
  Stamper(const Stamper&) = delete;
  Stamper& operator=(const Stamper&) = delete;

  [[nodiscard]] cuda::CudaDevice& device() { return *device_; }
  [[nodiscard]] pool::StreamId id(std::size_t stream) const { return streams_[stream].id(); }
  [[nodiscard]] CUstream queue(std::size_t stream) const {
    return static_cast<CUstream>(streams_[stream].native());
  }
  void order(std::size_t first, std::size_t second) {
    const TestEvent event(device_->api());
    CHECK(device_->api().cuEventRecord(event.get(), queue(first)) == CUDA_SUCCESS);
    CHECK(device_->api().cuStreamWaitEvent(queue(second), event.get(), 0) == CUDA_SUCCESS);
  }

  Block allocate(std::size_t bytes, std::size_t stream, std::uint32_t value, long long cycles) {
    Block block{device_->pool().allocate(bytes, id(stream)), bytes, value, stream};
    unsigned long long words = bytes / sizeof(std::uint32_t);
    void* arguments[] = {&block.address, &words, &block.value, &cycles};
    launch(stamp_, arguments, stream);
    return block;
  }
  void verify(const Block& block, std::size_t stream) {
    void* address = block.address;
    unsigned long long words = block.bytes / sizeof(std::uint32_t);
    std::uint32_t value = block.value;
    void* arguments[] = {&address, &words, &value, &wrong_};
    launch(verify_, arguments, stream);
  }
  void free(const Block& block) {
    CHECK(device_->pool().try_deallocate(block.address, id(block.stream), block.bytes) ==
          pool::Misuse::none);
  }
  [[nodiscard]] std::uint64_t wrong_words() {
    device_->synchronize();
    std::uint64_t wrong = 1;
    const auto bytes =
        read(device_->api(), reinterpret_cast<CUdeviceptr>(wrong_), sizeof wrong, queue(0));
    std::memcpy(&wrong, bytes.data(), sizeof wrong);
    return wrong;
  }

 private:
  void launch(CUfunction kernel, void** arguments, std::size_t stream) {
    REQUIRE(device_->api().cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, queue(stream), arguments,
                                          nullptr) == CUDA_SUCCESS);
  }

  std::shared_ptr<cuda::CudaDevice> device_;
  CUfunction stamp_;
  CUfunction verify_;
  std::vector<Stream> streams_;
  void* wrong_ = nullptr;
};

/// Random allocations and frees on several streams; every block is verified by its last user.
void churn(Stamper& stamper, std::size_t streams, int operations, std::size_t largest_log2) {
  std::mt19937_64 random(20);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<Block> live;
  std::size_t live_bytes = 0;
  for (int i = 0; i < operations; ++i) {
    const bool full = live.size() >= 400 || live_bytes > 300 * kMiB;
    if (!full && (live.empty() || below(100) < 55)) {
      const std::size_t bytes = (std::size_t{1} << (8 + below(largest_log2 - 8))) + 4 * below(1000);
      const std::size_t stream = below(streams);
      live.push_back(stamper.allocate(bytes, stream, static_cast<std::uint32_t>(i + 1),
                                      below(20) == 0 ? 200000 : 0));
      live_bytes += bytes;
      continue;
    }
    const std::size_t which = below(live.size());
    const Block block = live[which];
    live[which] = live.back();
    live.pop_back();
    live_bytes -= block.bytes;
    const std::size_t reader = below(streams);
    if (reader != block.stream) {
      stamper.order(block.stream, reader);
      stamper.verify(block, reader);
      CHECK(stamper.device().pool().record_use(block.address, stamper.id(reader)) ==
            pool::Misuse::none);
    } else {
      stamper.verify(block, block.stream);
    }
    stamper.free(block);
  }
  for (const Block& block : live) {
    stamper.verify(block, block.stream);
    stamper.free(block);
  }
}

}  // namespace

TEST_CASE("blocks keep their bytes until their last user is done, on several streams") {
  FOREBAY_REQUIRE_DEVICE();
  Config config;
  config.pool.capacity = 512 * kMiB;
  constexpr std::size_t kStreams = 4;
  Stamper stamper(config, kStreams);
  churn(stamper, kStreams, 20000, 24);
  CHECK(stamper.wrong_words() == 0);
  CHECK(stamper.device().pool().validate() == "");
  const std::size_t given_back = stamper.device().pool().trim(0);
  CHECK(given_back > 0);
  CHECK(stamper.device().pool().validate() == "");
}

TEST_CASE("in a pool of regions the same holds") {
  FOREBAY_REQUIRE_DEVICE();
  Config config;
  config.pool.capacity = 1024 * kMiB;
  config.pool.backing = pool::PoolBacking::malloc;
  constexpr std::size_t kStreams = 4;
  Stamper stamper(config, kStreams);
  churn(stamper, kStreams, 20000, 24);
  CHECK(stamper.wrong_words() == 0);
  CHECK(stamper.device().pool().validate() == "");
}

TEST_CASE("in passthrough the same holds") {
  FOREBAY_REQUIRE_DEVICE();
  Config config;
  config.pool.mode = pool::PoolMode::passthrough;
  constexpr std::size_t kStreams = 2;
  Stamper stamper(config, kStreams);
  churn(stamper, kStreams, 500, 20);
  CHECK(stamper.wrong_words() == 0);
  CHECK(stamper.device().pool().validate() == "");
}

TEST_CASE("the pinned pool's blocks are copied from and to the device") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, {});
  const driver::CudaApi& api = device->api();
  const pool::StreamId stream = device->default_stream().id();
  const auto queue = static_cast<CUstream>(device->default_stream().native());
  constexpr std::size_t kBlocks = 100;
  constexpr std::size_t kBytes = 100000;
  void* memory = device->pool().allocate(kBlocks * kBytes, stream);
  const auto at = [&](std::size_t i) { return reinterpret_cast<CUdeviceptr>(memory) + i * kBytes; };
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(device->pinned_pool().allocate(kBytes, stream));
    std::memset(blocks.back(), static_cast<int>(i), kBytes);
    REQUIRE(api.cuMemcpyHtoDAsync(at(i), blocks.back(), kBytes, queue) == CUDA_SUCCESS);
  }
  device->default_stream().synchronize();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t other = kBlocks - 1 - i;
    REQUIRE(api.cuMemcpyDtoHAsync(blocks[i], at(other), kBytes, queue) == CUDA_SUCCESS);
    device->default_stream().synchronize();
    const auto* bytes = static_cast<const unsigned char*>(blocks[i]);
    for (std::size_t k = 0; k < kBytes; ++k) {
      wrong += bytes[k] != other ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
  for (void* block : blocks) {
    device->pinned_pool().deallocate(block, stream);
  }
  device->pool().deallocate(memory, stream);
  CHECK(device->pinned_pool().validate() == "");
}

TEST_CASE("a capture allocates from the pool and survives") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, {});
  const driver::CudaApi& api = device->api();
  const Stream capturing = device->create_stream();
  const Stream other = device->create_stream();
  void* held = device->pool().allocate(kMiB, other.id());
  device->pool().deallocate(held, other.id());
  const pool::ArenaId arena = device->pool().begin_capture(capturing.id());
  REQUIRE(api.cuStreamBeginCapture(static_cast<CUstream>(capturing.native()),
                                   CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  void* inside = device->pool().allocate(64 * kMiB, capturing.id());
  CHECK(inside != nullptr);
  for (int i = 0; i < 200; ++i) {  // points are recorded and queried meanwhile
    void* block = device->pool().allocate(kMiB, other.id());
    device->pool().deallocate(block, other.id());
  }
  fill(api, reinterpret_cast<CUdeviceptr>(inside), 1, kMiB,
       static_cast<CUstream>(capturing.native()));
  CUgraph graph = nullptr;
  CHECK(api.cuStreamEndCapture(static_cast<CUstream>(capturing.native()), &graph) == CUDA_SUCCESS);
  CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);
  device->pool().end_capture(capturing.id());
  device->pool().deallocate(inside, capturing.id());
  device->pool().drop_arena(arena);
}
