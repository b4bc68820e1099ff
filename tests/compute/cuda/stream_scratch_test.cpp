#include "compute/cuda/stream_scratch.hpp"

#include <algorithm>

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

TEST_CASE("a stream keeps its scratch memory, which begins as zeros") {
  FakeCuda cuda;
  cuda::StreamScratch scratch(*cuda.device);
  const void* const first = scratch.reduction(cuda.stream);
  constexpr std::size_t kWords = std::size_t{cuda::kSplitPartials} * cuda::kMostPartial / 4;
  const auto* const words = static_cast<const std::uint32_t*>(first);
  CHECK(std::count(words, words + kWords, 0U) == std::ptrdiff_t{kWords});
  const std::uint64_t live = cuda.live_blocks();
  CHECK(scratch.reduction(cuda.stream) == first);
  CHECK(scratch.workspace(cuda.stream) == scratch.workspace(cuda.stream));
  CHECK(cuda.live_blocks() == live + 1);
}

TEST_CASE("streams do not share, and only so many have scratch memory") {
  FakeCuda cuda;
  const std::uint64_t before = cuda.live_blocks();
  {
    cuda::StreamScratch scratch(*cuda.device);
    const void* const first = scratch.reduction(cuda.stream);
    std::vector<const void*> seen = {first};
    for (int i = 0; i < 40; ++i) {
      const Stream stream = cuda.device->create_stream();
      seen.push_back(scratch.reduction(stream));
      CHECK(seen[seen.size() - 1] != seen[seen.size() - 2]);
    }
    CHECK(scratch.streams() == cuda::StreamScratch::kStreams);
    CHECK(cuda.live_blocks() == before + cuda::StreamScratch::kStreams);
  }
  CHECK(cuda.live_blocks() == before);
}

TEST_CASE("a failed start leaves nothing behind and can be tried again") {
  FakeCuda cuda;
  cuda::StreamScratch scratch(*cuda.device);
  const std::uint64_t before = cuda.live_blocks();
  cuda.driver.fail("cuMemsetD32Async", 1, CUDA_ERROR_INVALID_VALUE);
  CHECK_THROWS_AS(scratch.reduction(cuda.stream), DriverError);
  CHECK(cuda.live_blocks() == before);
  CHECK(scratch.reduction(cuda.stream) != nullptr);
}
