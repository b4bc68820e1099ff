// No miss waits for the device: what other streams have in flight stays in flight.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/support/driver_pieces.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

constexpr std::size_t kHandle = 32 * kMiB;
constexpr std::size_t kBuffer = 2 * kHandle;
constexpr std::size_t kVictim = 8 * kHandle;
constexpr std::size_t kCapacity = 32 * kHandle;

/// Adds one to every word, and takes so long at least.
constexpr const char* kStep = R"(
__device__ unsigned long long now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
extern "C" __global__ void step(unsigned* block, unsigned long long words, unsigned long long ns) {
  const unsigned long long start = now();
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < words;
       i += (unsigned long long)gridDim.x * blockDim.x) block[i] += 1;
  while (now() - start < ns) {}
}
)";

/// A stream with hundreds of steps and copies in flight, and the event behind them.
class LongWork {
 public:
  static constexpr unsigned kRounds = 300;

  LongWork(cuda::CudaDevice& device, const Stream& stream)
      : device_(device),
        stream_(stream),
        queue_(static_cast<CUstream>(stream.native())),
        step_(device.kernels().get(kStep, "step")),
        done_(device.api()) {
    for (void*& buffer : buffers_) buffer = device_.pool().allocate(kBuffer, stream_.id());
    // The kernel is loaded and has run once before anything is measured.
    fill(device_.api(), at(0), 0, kBuffer, queue_);
    step(0, 0);
    fill(device_.api(), at(0), 0, kBuffer, queue_);
    device_.synchronize();
  }
  ~LongWork() {
    for (void* buffer : buffers_) device_.pool().deallocate(buffer, stream_.id());
  }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  void start() {
    for (unsigned round = 0; round < kRounds; ++round) {
      step(round % 2, 2'000'000);
      REQUIRE(device_.api().cuMemcpyDtoDAsync(at((round + 1) % 2), at(round % 2), kBuffer,
                                              queue_) == CUDA_SUCCESS);
    }
    REQUIRE(device_.api().cuEventRecord(done_.get(), queue_) == CUDA_SUCCESS);
  }
  [[nodiscard]] bool in_flight() const {
    const CUresult result = device_.api().cuEventQuery(done_.get());
    REQUIRE((result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY));
    return result == CUDA_ERROR_NOT_READY;
  }
  /// Waits for all of it; how many words are not what they should be.
  [[nodiscard]] std::size_t wrong_words() {
    std::size_t wrong = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const auto bytes = read(device_.api(), at(i), kBuffer, queue_);
      for (std::size_t word = 0; word < kBuffer; word += sizeof(std::uint32_t)) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + word, sizeof value);
        // The last step was on buffer 1 and was copied to buffer 0.
        wrong += value != kRounds ? 1 : 0;
      }
    }
    return wrong;
  }

 private:
  [[nodiscard]] CUdeviceptr at(unsigned buffer) const {
    return reinterpret_cast<CUdeviceptr>(buffers_[buffer]);
  }
  void step(unsigned buffer, unsigned long long ns) {
    unsigned long long words = kBuffer / sizeof(std::uint32_t);
    void* arguments[] = {&buffers_[buffer], &words, &ns};
    REQUIRE(device_.api().cuLaunchKernel(step_, 64, 1, 1, 256, 1, 1, 0, queue_, arguments,
                                         nullptr) == CUDA_SUCCESS);
  }

  cuda::CudaDevice& device_;
  const Stream& stream_;
  CUstream queue_;
  CUfunction step_;
  TestEvent done_;
  void* buffers_[2] = {};
};

}  // namespace

TEST_CASE("no miss waits for the device") {
  FOREBAY_REQUIRE_DEVICE();
  Config config;
  config.pool.capacity = kCapacity;
  config.pool.handle_size = kHandle;
  config.pool.growth_step = 0;
  config.pool.parked_spans = 0;
  config.pool.point_every_frees = 1;
  using Rung = pool::LadderRung;
  config.pool.ladder = {Rung::completed, Rung::steal, Rung::map,      Rung::remap,
                        Rung::grow,      Rung::trim,  Rung::callback, Rung::wait};
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, config);
  pool::Pool& pool = device->pool();
  const Stream busy = device->create_stream();
  const Stream idle = device->create_stream();
  const Stream thief = device->create_stream();
  LongWork work(*device, busy);
  void* victim = pool.allocate(kVictim, busy.id());
  const auto allocate = [&](std::size_t bytes, const Stream& stream) {
    return pool.allocate(bytes, stream.id());
  };
  // Each miss with the work in flight before it and after it.
  const auto miss = [&](const std::string& what, auto&& provoke) {
    if (!work.in_flight()) {
      FAIL("nothing was measured: the work was over before " << what << " began");
    }
    provoke();
    if (!work.in_flight()) {
      FAIL("the work was over after " << what << ": either that waited for the device, or the "
                                      << "work is too short for this test to measure anything");
    }
  };
  // Only this stream's work is waited for, and it has none: its points have passed then.
  const auto settle = [&] { idle.synchronize(); };

  work.start();
  std::vector<void*> blocks;
  miss("mapping new memory", [&] {
    const std::uint64_t before = pool.stats().ladder.map.count;
    while (pool.stats().held.current < kCapacity) blocks.push_back(allocate(kHandle, idle));
    CHECK(pool.stats().ladder.map.count >= before + blocks.size());
  });
  REQUIRE(blocks.size() >= 16);
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    pool.deallocate(blocks[i], idle.id());
    blocks[i] = nullptr;
  }
  settle();
  void* small = nullptr;
  miss("a small carrier", [&] {
    const std::uint64_t before = pool.stats().slab.pages;
    small = allocate(1000, idle);
    CHECK(pool.stats().slab.pages == before + 1);
  });
  void* large = nullptr;
  miss("moving idle memory", [&] {
    const std::uint64_t before = pool.stats().ladder.remap.count;
    large = allocate(4 * kHandle, idle);
    CHECK(pool.stats().ladder.remap.count == before + 1);
  });
  pool.deallocate(large, idle.id());
  pool.deallocate(small, idle.id());
  for (void* block : blocks) pool.deallocate(block, idle.id());
  settle();
  CHECK(pool.stats().host_waits == 0);
  // It waits for what was freed, and that is the idle stream's alone.
  miss("trim", [&] { CHECK(pool.trim() >= 8 * kHandle); });
  const std::uint64_t waits = pool.stats().host_waits;
  void* stolen = nullptr;
  miss("a steal", [&] {
    const std::uint64_t before = pool.stats().ladder.steal.count;
    pool.deallocate(victim, busy.id());
    stolen = allocate(kVictim, thief);
    CHECK(stolen == victim);
    CHECK(pool.stats().ladder.steal.count == before + 1);
  });
  CHECK(pool.stats().host_waits == waits);
  // The thief's work comes after all of the other's.
  const auto queue = static_cast<CUstream>(thief.native());
  fill(device->api(), reinterpret_cast<CUdeviceptr>(stolen), 7, kVictim, queue);
  thief.synchronize();
  CHECK_FALSE(work.in_flight());
  CHECK(work.wrong_words() == 0);
  pool.deallocate(stolen, thief.id());
  CHECK(pool.validate() == "");
}
