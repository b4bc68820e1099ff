#include "runtime/cuda/cuda_pinned_source.hpp"

#include <cstring>

#include "tests/support/catch.hpp"
#include "tests/support/fake_context.hpp"

using namespace forebay;
using cuda::CudaPinnedSource;
using pool::Address;
using pool::Outcome;
using test::FakeContext;

TEST_CASE("pinned memory comes in whole regions that the host writes") {
  FakeContext fake;
  CudaPinnedSource source(fake.context);
  CHECK(source.traits().name == "cuda-pinned");
  CHECK_FALSE(source.traits().virtual_memory);
  CHECK(source.traits().total > 0);
  CHECK(source.free_bytes() <= source.traits().total);
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  Address region = 0;
  REQUIRE(source.allocate_region(kBytes, &region).ok());
  std::memset(reinterpret_cast<void*>(region), 1, kBytes);
  CHECK(fake.driver.leaks() == "1 pinned regions, 1 retained contexts");
  REQUIRE(source.free_region(region, kBytes).ok());
  CHECK(fake.driver.leaks() == "1 retained contexts");
}

TEST_CASE("what a pinned source cannot do, it says") {
  FakeContext fake;
  CudaPinnedSource source(fake.context);
  Address address = 0;
  pool::Handle handle = 0;
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  for (const pool::SourceResult& result :
       {source.reserve(kBytes, &address), source.create(kBytes, &handle), source.map(0, kBytes, 1),
        source.set_access(0, kBytes), source.unmap(0, kBytes), source.release(1, kBytes),
        source.unreserve(0, kBytes)}) {
    CHECK(result.outcome == Outcome::failed);
    CHECK(result.code == CUDA_ERROR_NOT_SUPPORTED);
  }
  CHECK(source.free_region(kBytes, kBytes).code == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("host memory that is used up is an answer") {
  FakeContext fake;
  CudaPinnedSource source(fake.context);
  fake.driver.fail("cuMemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  Address region = 0;
  CHECK(source.allocate_region(4096, &region).outcome == Outcome::out_of_memory);
}
