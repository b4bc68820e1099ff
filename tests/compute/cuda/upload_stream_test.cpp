#include "compute/cuda/upload_stream.hpp"

#include <algorithm>
#include <numeric>

#include "compute/engine.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

Config with_ring(bool overlap) {
  Config config = fake_config();
  config.upload.ring_bytes = 2 * kMiB;
  config.upload.chunk_bytes = kMiB / 2;
  config.upload.overlap = overlap;
  return config;
}

std::vector<std::int32_t> counted(std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

CUstream native(const Stream& stream) { return static_cast<CUstream>(stream.native()); }

compute::NodeRef upload(FakeCuda& cuda, const std::vector<std::int32_t>& numbers) {
  const compute::Engine::HostArray array{numbers.data(), DType::i32};
  const Dims shape{static_cast<std::int64_t>(numbers.size())};
  return compute::Engine::of(*cuda.device).upload({&array, 1}, shape, DType::i32).front();
}

/// Sixteen words on the device that are 1 until the held stream has written 2.
std::uint32_t* write_later(FakeCuda& cuda, const Stream& stream) {
  auto* const words = cuda.allocate<std::uint32_t>(16);
  std::fill_n(words, 16, 1U);
  cuda.driver.hold(native(stream));
  REQUIRE(cuda.driver.api()->cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(words), 2, 16,
                                              native(stream)) == CUDA_SUCCESS);
  return words;
}

}  // namespace

TEST_CASE("large uploads have a stream of their own unless the configuration says no") {
  FakeCuda cuda;
  cuda::UploadStream uploads(*cuda.device);
  const std::uint64_t events = cuda.device->counters().events;
  CHECK(uploads.choose(kMiB, cuda.stream).id() == cuda.stream.id());
  CHECK(cuda.device->counters().events == events);  // small ones alone make nothing
  const Stream own = uploads.choose(kMiB + 1, cuda.stream);
  CHECK(own.id() != cuda.stream.id());
  CHECK(uploads.choose(100 * kMiB, cuda.stream).id() == own.id());
  CHECK(cuda.device->counters().events == events + 3);
}

TEST_CASE("no upload has a stream of its own where the configuration says so") {
  FakeCuda cuda(with_ring(false));
  cuda::UploadStream uploads(*cuda.device);
  CHECK(uploads.choose(100 * kMiB, cuda.stream).id() == cuda.stream.id());
}

TEST_CASE("a large upload passes by the work that is enqueued, and later work waits for it") {
  FakeCuda cuda(with_ring(true));
  const std::vector<std::int32_t> numbers = counted(3 * kMiB);  // six times the ring
  auto* const seen = cuda.allocate<std::int32_t>(numbers.size());
  std::fill_n(seen, numbers.size(), -1);
  // Behind the held stream the full ring would wait for it, which lets it run.
  const std::uint32_t* const words = write_later(cuda, cuda.stream);
  const compute::NodeRef node = upload(cuda, numbers);
  const auto* const there = static_cast<const std::int32_t*>(node->address());
  CHECK(std::equal(numbers.begin(), numbers.end(), there));
  CHECK(words[0] == 1);
  compute::Engine::of(*cuda.device)
      .backend()
      .copy(there, seen, numbers.size() * sizeof numbers[0], cuda.stream);
  CHECK(seen[0] == -1);
  cuda.driver.let_go(native(cuda.stream));
  cuda.stream.synchronize();
  CHECK(std::equal(numbers.begin(), numbers.end(), seen));
}

TEST_CASE("work that comes after a join waits for a copy that is still under way") {
  FakeCuda cuda;
  cuda::UploadStream uploads(*cuda.device);
  const Stream own = uploads.choose(2 * kMiB, cuda.stream);
  std::uint32_t* const words = write_later(cuda, own);
  uploads.join(cuda.stream, own);
  REQUIRE(cuda.driver.api()->cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(words + 8),
                                               reinterpret_cast<CUdeviceptr>(words), 4,
                                               native(cuda.stream)) == CUDA_SUCCESS);
  CHECK(words[0] == 1);
  cuda.stream.synchronize();
  CHECK(words[8] == 2);
}

TEST_CASE("memory of a tensor is not written while earlier work may read it") {
  FakeCuda cuda(with_ring(true));
  const std::vector<std::int32_t> numbers = counted(kMiB);
  compute::NodeRef first = upload(cuda, numbers);
  auto* const seen = cuda.allocate<std::int32_t>(numbers.size());
  cuda.stream.synchronize();
  cuda.driver.hold(native(cuda.stream));
  compute::Engine::of(*cuda.device)
      .backend()
      .copy(first->address(), seen, numbers.size() * sizeof numbers[0], cuda.stream);
  first = {};
  const std::vector<std::int32_t> others(numbers.size(), 7);
  std::vector<compute::NodeRef> more;
  // Whether the pool hands out other memory or waits for that of `first` is up to it.
  for (int i = 0; i < 4; ++i) more.push_back(upload(cuda, others));
  cuda.driver.let_go(native(cuda.stream));
  cuda.stream.synchronize();
  CHECK(std::equal(numbers.begin(), numbers.end(), seen));
}

TEST_CASE("an upload that fails leaves nothing behind, and where joining fails the host waits") {
  FakeCuda cuda(with_ring(true));
  const std::vector<std::int32_t> numbers = counted(3 * kMiB);
  (void)upload(cuda, numbers);
  const std::uint64_t live = cuda.live_blocks();
  cuda.driver.fail("cuMemcpyHtoDAsync", 3, CUDA_ERROR_LAUNCH_FAILED);
  CHECK_THROWS_AS(upload(cuda, numbers), DriverError);
  cuda.driver.heal();
  CHECK(cuda.live_blocks() == live);
}

TEST_CASE("where a join cannot be enqueued the host waits") {
  for (const char* call : {"cuEventRecord", "cuStreamWaitEvent"}) {
    INFO(call);
    FakeCuda cuda;
    cuda::UploadStream uploads(*cuda.device);
    const Stream own = uploads.choose(2 * kMiB, cuda.stream);
    std::uint32_t* const words = write_later(cuda, own);
    cuda.driver.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    uploads.join(cuda.stream, own);
    cuda.driver.heal();
    CHECK(words[0] == 2);
  }
}

TEST_CASE("a large upload does not wait for small ones that stand behind other work") {
  FakeCuda cuda(with_ring(true));
  const std::vector<std::int32_t> numbers = counted(3 * kMiB);
  const std::vector<std::int32_t> few = counted(100);
  (void)upload(cuda, numbers);
  const std::uint32_t* const words = write_later(cuda, cuda.stream);
  const compute::NodeRef small = upload(cuda, few);
  const compute::NodeRef large = upload(cuda, numbers);
  CHECK(std::equal(numbers.begin(), numbers.end(),
                   static_cast<const std::int32_t*>(large->address())));
  CHECK(words[0] == 1);
  cuda.driver.let_go(native(cuda.stream));
  cuda.stream.synchronize();
  CHECK(std::equal(few.begin(), few.end(), static_cast<const std::int32_t*>(small->address())));
}

TEST_CASE("uploads run ahead of the work by a bounded amount") {
  FakeCuda cuda(with_ring(true));
  cuda::UploadStream uploads(*cuda.device);
  auto* const words = cuda.allocate<std::uint32_t>(16);
  words[0] = 0;
  // Each step is an upload of more than the ring and then work, which only a wait lets run.
  for (std::uint32_t step = 1; step <= 20; ++step) {
    INFO("step " << step);
    (void)uploads.choose(3 * kMiB, cuda.stream);
    CHECK(words[0] + 2 >= step - 1);
    cuda.driver.hold(native(cuda.stream));
    REQUIRE(cuda.driver.api()->cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(words), step, 16,
                                                native(cuda.stream)) == CUDA_SUCCESS);
  }
  CHECK(words[0] < 20);
}

TEST_CASE("a stream that joins itself waits for nothing, whatever the configuration") {
  FakeCuda cuda(with_ring(false));
  cuda::UploadStream uploads(*cuda.device);
  const std::uint32_t* const words = write_later(cuda, cuda.stream);
  uploads.join(cuda.stream, uploads.choose(100 * kMiB, cuda.stream));
  CHECK(words[0] == 1);
}
